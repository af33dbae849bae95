// Calls a method by its path with bytes, as a client without stubs does: as many messages as it
// likes.
#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"

namespace dpledger::server {

struct AnyAnswer {
  grpc::Status status;
  int responses = 0;
  std::string last;  // the bytes of the last response
};

inline AnyAnswer CallAny(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
                         const std::vector<std::string>& messages) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, path, &queue);
  call->StartCall(nullptr);
  bool open = done();
  for (size_t i = 0; open && i < messages.size(); ++i) {
    const grpc::Slice slice(messages[i]);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    open = done();
  }
  if (open) {
    call->WritesDone(nullptr);
    done();
  }
  AnyAnswer answer;
  grpc::ByteBuffer response;
  for (call->Read(&response, nullptr); done(); call->Read(&response, nullptr)) {
    ++answer.responses;
    grpc::Slice bytes;
    if (response.DumpToSingleSlice(&bytes).ok()) {
      answer.last.assign(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    }
  }
  call->Finish(&answer.status, nullptr);
  done();
  return answer;
}

}  // namespace dpledger::server
