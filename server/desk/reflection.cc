#include "server/desk/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <utility>

#include "absl/status/status.h"

namespace dpledger::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::FileDescriptorResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

// `file` and all that it imports, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& seen,
             FileDescriptorResponse& response) {
  if (!seen.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), seen, response);
}

void Refuse(absl::StatusCode code, const char* message, ServerReflectionResponse& response) {
  response.mutable_error_response()->set_error_code(static_cast<int>(code));
  response.mutable_error_response()->set_error_message(message);
}

void AnswerFile(const FileDescriptor* file, ServerReflectionResponse& response) {
  if (file == nullptr) {
    Refuse(absl::StatusCode::kNotFound, "there is no such file, symbol or extension", response);
    return;
  }
  std::set<const FileDescriptor*> seen;
  AddFile(*file, seen, *response.mutable_file_descriptor_response());
}

const FileDescriptor* FileOfExtension(const DescriptorPool& pool,
                                      const ServerReflectionRequest& request) {
  const auto& wanted = request.file_containing_extension();
  const auto* const type = pool.FindMessageTypeByName(wanted.containing_type());
  if (type == nullptr) return nullptr;
  const auto* const extension = pool.FindExtensionByNumber(type, wanted.extension_number());
  return extension == nullptr ? nullptr : extension->file();
}

void AnswerExtensions(const DescriptorPool& pool, const std::string& name,
                      ServerReflectionResponse& response) {
  const auto* const type = pool.FindMessageTypeByName(name);
  if (type == nullptr) {
    Refuse(absl::StatusCode::kNotFound, "there is no such message", response);
    return;
  }
  std::vector<const google::protobuf::FieldDescriptor*> extensions;
  pool.FindAllExtensions(type, &extensions);
  auto& answer = *response.mutable_all_extension_numbers_response();
  answer.set_base_type_name(name);
  for (const auto* extension : extensions) answer.add_extension_number(extension->number());
}

// Reads, answers, and reads again: one operation at a time.
class ReflectionStream : public Stream {
 public:
  ReflectionStream(std::vector<std::string> services, StreamDoor* door)
      : services_(std::move(services)), door_(door) {}

  void Start() override { door_->StartRead(); }
  void OnRead(absl::StatusOr<MessagePointer> message) override {
    if (message.ok()) {
      door_->StartWrite(Reflect(services_, static_cast<const ServerReflectionRequest&>(**message)));
    } else {
      door_->Finish(message.status());
    }
  }
  void OnEndOfInput() override { door_->Finish(absl::OkStatus()); }
  void OnWriteDone(bool ok) override {
    if (ok) {
      door_->StartRead();
    } else {
      door_->Finish(absl::CancelledError("the caller has gone"));
    }
  }
  void OnCancel() override {}  // the operation under way fails
  void End(const absl::Status&) override {}

 private:
  const std::vector<std::string> services_;
  StreamDoor* const door_;
};

}  // namespace

ServerReflectionResponse Reflect(const std::vector<std::string>& services,
                                 const ServerReflectionRequest& request) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      AnswerFile(pool.FindFileByName(request.file_by_filename()), response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      AnswerFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), response);
      break;
    case ServerReflectionRequest::kFileContainingExtension:
      AnswerFile(FileOfExtension(pool, request), response);
      break;
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      AnswerExtensions(pool, request.all_extension_numbers_of_type(), response);
      break;
    case ServerReflectionRequest::kListServices:
      for (const std::string& service : services) {
        response.mutable_list_services_response()->add_service()->set_name(service);
      }
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      Refuse(absl::StatusCode::kInvalidArgument, "message_request: must be set", response);
  }
  return response;
}

std::shared_ptr<Stream> OpenReflection(std::vector<std::string> services, StreamDoor* door) {
  return std::make_shared<ReflectionStream>(std::move(services), door);
}

}  // namespace dpledger::server
