#include "tests/simulation/forger.h"

namespace dpledger::simulation {

HeadKeys ServerKeys() {
  static const auto& key =
      *new std::shared_ptr<const merkle::Authenticator>(std::make_shared<merkle::Authenticator>(
          *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 's')), kHeadPurpose));
  return {key, nullptr};
}

void Forge(Chance& chance, v1::WriterStatus& writer, v1::StoredHead& head) {
  switch (chance.Below(5)) {
    case 0:
      writer.set_closed(!writer.closed());
      break;
    case 1:
      writer.set_last_round(writer.last_round() + 1);
      break;
    case 2:
      writer.set_incarnation("forged");
      break;
    case 3:
      head.set_state(head.state() == v1::OPEN ? v1::SEALED : v1::OPEN);
      break;
    default:
      writer.add_missing_spools()->set_incarnation("forged");
      break;
  }
  if (chance.OneIn(2)) head.clear_authenticator();
}

std::string WithOtherDeclaration(std::string batch) {
  const size_t at = batch.find("adult");  // tests/ledger_store/requests.h
  return at == std::string::npos ? batch : batch.replace(at, 5, "other");
}

}  // namespace dpledger::simulation
