// What the server's parts count, as metrics (docs/metrics.md).
#include <sys/statvfs.h>

#include <filesystem>
#include <system_error>

#include "questions/answers.h"
#include "server/metrics/process_figures.h"
#include "server/server.h"

namespace dpledger::server {
namespace {

using Samples = std::vector<PulledSample>;

double UnixSeconds(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

double BytesIn(const std::string& folder) {
  double bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;  // the store removes files of its own
    const uintmax_t size = it->file_size(gone);
    if (!gone) bytes += static_cast<double>(size);
  }
  return bytes;
}

void PullStore(const LedgerStore* store, const std::string& folder, Metrics& metrics) {
  metrics.Pull("dpledger_store_healthy",
               "1 until the store stops after an error of the disk, or a loss of its database.",
               PulledKind::kGauge, [store] { return store->Healthy() ? 1.0 : 0.0; });
  metrics.Pull("dpledger_commit_waiting_bytes",
               "Bytes of requests that wait for the disk or the database.", PulledKind::kGauge,
               [store] { return store->WaitingBytes(); });
  const auto volume = [folder](auto of) {
    return [folder, of]() -> Samples {
      struct statvfs found = {};
      if (folder.empty() || ::statvfs(folder.c_str(), &found) != 0) return {};
      return {{of(found), {}}};
    };
  };
  metrics.Pull({"dpledger_store_bytes", "Size of the files of the store's folder.",
                PulledKind::kGauge, [folder]() -> Samples {
                  if (folder.empty()) return {};
                  return {{BytesIn(folder), {}}};
                }});
  metrics.Pull({"dpledger_store_volume_free_bytes",
                "Room on the store's volume for others than root.", PulledKind::kGauge,
                volume([](const struct statvfs& found) {
                  return static_cast<double>(found.f_bavail) * static_cast<double>(found.f_frsize);
                })});
  metrics.Pull({"dpledger_store_volume_bytes", "Size of the store's volume.", PulledKind::kGauge,
                volume([](const struct statvfs& found) {
                  return static_cast<double>(found.f_blocks) * static_cast<double>(found.f_frsize);
                })});
}

void PullSigning(const SigningLoop* signing, Metrics& metrics) {
  metrics.Pull("dpledger_signed_age_seconds",
               "Time since something last showed that ledgers get signed.", PulledKind::kGauge,
               [signing] { return absl::ToDoubleSeconds(signing->SignedAge()); });
  metrics.Pull("dpledger_signed_registry_entries", "Size of the registry's signed checkpoint.",
               PulledKind::kGauge,
               [signing] { return signing->notary().registry()->checkpoint.checkpoint.size; });
  metrics.Pull("dpledger_signed_entries_total",
               "Entries of ledgers that this server has read back and signed.",
               PulledKind::kCounter, [signing] { return signing->signed_entries(); });
}

void PullFront(const front::Front* front, Metrics& metrics) {
  metrics.Pull("dpledger_open_connections", "Connections that are open now.", PulledKind::kGauge,
               [front] { return front->figures().connections; });
  metrics.Pull("dpledger_connections_accepted_total", "Connections that came.",
               PulledKind::kCounter, [front] { return front->figures().accepted; });
  metrics.Pull({"dpledger_connections_ended_total",
                "Connections that the server refused or ended, by reason.", PulledKind::kCounter,
                [front] {
                  const front::FrontFigures figures = front->figures();
                  Samples samples;
                  for (size_t i = 0; i < front::kClosings.size(); ++i) {
                    samples.push_back({static_cast<double>(figures.ended[i]),
                                       {{"reason", front::kClosings[i].label}}});
                  }
                  return samples;
                }});
  metrics.Pull("dpledger_certificate_reload_failures_total",
               "How often changed files of the certificate did not load.", PulledKind::kCounter,
               [front] { return front->figures().reload_failures; });
  metrics.Pull({"dpledger_certificate_expiry_timestamp_seconds",
                "When the server's certificate ends, in Unix time.", PulledKind::kGauge,
                [front]() -> Samples {
                  const std::optional<absl::Time> ends = front->figures().certificate_ends;
                  if (!ends.has_value()) return {};
                  return {{UnixSeconds(*ends), {}}};
                }});
}

void PullBudgets(const LedgerIndex* index, Metrics& metrics) {
  metrics.Pull("dpledger_budgets_nearly_full", "Open budgets of which 80 % and more are granted.",
               PulledKind::kGauge, [index] { return index->nearly_full(); });
  metrics.Pull("dpledger_runs_overspent",
               "Ledgers that have spent more than their budget granted them.", PulledKind::kGauge,
               [index] { return index->overspent(); });
}

}  // namespace

void Server::PullFigures(const std::string& store_folder) {
  metrics_->Pull({"dpledger_build_info", "Always 1; the version is a label.", PulledKind::kGauge,
                  []() -> Samples {
                    return {{1, {{"version", questions::Version()}}}};
                  }});
  metrics_->Pull(
      "dpledger_ready", "1 while the server as a whole is ready.", PulledKind::kGauge, [this] {
        return desk_->health().Of("") == grpc::health::v1::HealthCheckResponse::SERVING ? 1.0 : 0.0;
      });
  metrics_->Pull({"dpledger_not_ready", "1 for the reason why the server is not ready.",
                  PulledKind::kGauge, [this] {
                    const std::string now = NotReadyReason();
                    Samples samples;
                    for (const char* reason : {kSigningStalled, kClockJumped, kNotAccepting,
                                               kDamaged, kDatabaseWentBack}) {
                      samples.push_back({now == reason ? 1.0 : 0.0, {{"reason", reason}}});
                    }
                    return samples;
                  }});
  metrics_->Pull({"dpledger_pool_waiting_calls", "Calls that wait for a thread, by its pool.",
                  PulledKind::kGauge, [this] {
                    Samples samples;
                    for (const auto& [pool, waiting] : desk_->Waiting()) {
                      samples.push_back({static_cast<double>(waiting), {{"pool", pool}}});
                    }
                    return samples;
                  }});
  PullStore(store_.get(), store_folder, *metrics_);
  PullSigning(signing_.get(), *metrics_);
  PullFront(front_.get(), *metrics_);
  PullBudgets(&index_, *metrics_);
  metrics_->Pull(
      "dpledger_evidence_left",
      "Logs whose signatures, tiles or entries are still to be looked at after the start.",
      PulledKind::kGauge, [this] { return evidence_->left(); });
  PullProcess(*metrics_);
}

std::string Server::NotReadyReason() {
  absl::MutexLock lock(&mutex_);
  return not_ready_reason_;
}

}  // namespace dpledger::server
