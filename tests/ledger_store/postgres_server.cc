#include "tests/ledger_store/postgres_server.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

namespace dpledger {
namespace {

constexpr char kPrograms[] = "/usr/lib/postgresql/15/bin/";
constexpr char kUser[] = "postgres";
constexpr absl::Duration kLongest = absl::Minutes(1);

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "PostgreSQL for tests: %s\n", what.c_str());
  std::abort();
}

// Starts a program, of PostgreSQL if it has no path, as an unprivileged user, its output at the end
// of `log`.
pid_t Spawn(std::vector<std::string> arguments, const std::string& log) {
  if (arguments[0][0] != '/') arguments[0] = kPrograms + arguments[0];
  if (::geteuid() == 0) {
    const std::vector<std::string> as_user = {"/usr/bin/setpriv",
                                              absl::StrCat("--reuid=", kUser),
                                              absl::StrCat("--regid=", kUser),
                                              "--clear-groups",
                                              "--pdeathsig=KILL",
                                              "--"};
    arguments.insert(arguments.begin(), as_user.begin(), as_user.end());
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) Die("cannot fork");
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (::chdir("/") != 0) ::_exit(126);  // the user may have no right to where we are
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

void RunToEnd(std::vector<std::string> arguments, const std::string& log) {
  const std::string what = absl::StrJoin(arguments, " ");
  int status = 0;
  if (::waitpid(Spawn(std::move(arguments), log), &status, 0) < 0 || status != 0) {
    std::ostringstream output;
    output << std::ifstream(log).rdbuf();
    Die(absl::StrCat(what, ": failed\n", output.str()));
  }
}

void GiveToUser(const std::string& path) {
  if (::geteuid() != 0) return;
  const passwd* const user = ::getpwnam(kUser);
  if (user == nullptr || ::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    Die(absl::StrCat("cannot give ", path, " to the user ", kUser));
  }
}

std::string MakeFolder() {
  const char* const temporary = ::getenv("TMPDIR");
  // Short: a socket's path has 107 bytes.
  std::string folder =
      absl::StrCat(temporary == nullptr ? "/tmp" : temporary, "/dpledger_pg_XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) Die("cannot make a folder");
  GiveToUser(folder);
  return folder;
}

void RemoveFolder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// The files of a new database. They take two seconds of a processor, and a copy a tenth of one: so
// a program makes them once.
class NewDatabase {
 public:
  NewDatabase() {
    RunToEnd({"initdb", "-D", data(), "-U", kUser, "-A", "trust", "-E", "UTF8", "--locale=C",
              "--no-sync", "--no-instructions"},
             folder_ + "/initdb.log");
  }
  ~NewDatabase() { RemoveFolder(folder_); }
  std::string data() const { return folder_ + "/data"; }

 private:
  const std::string folder_ = MakeFolder();
};

// The processes whose parent is `parent`: /proc/<pid>/stat says "pid (name) state parent …".
std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    std::string stat;
    std::getline(std::ifstream(entry.path() / "stat"), stat);
    const size_t name_end = stat.rfind(") ");
    if (name_end == std::string::npos) continue;
    std::istringstream fields(stat.substr(name_end + 4));
    pid_t its_parent = 0;
    if (fields >> its_parent && its_parent == parent) {
      children.push_back(static_cast<pid_t>(std::stol(stat)));
    }
  }
  return children;
}

}  // namespace

PostgresServer::PostgresServer(Empty) : folder_(MakeFolder()) {}

PostgresServer::PostgresServer() : PostgresServer(Empty()) {
  static const NewDatabase made;
  RunToEnd({"/bin/cp", "-r", made.data(), data()}, folder_ + "/copy.log");
  std::ofstream(data() + "/postgresql.conf", std::ios::app)
      << "listen_addresses = ''\n"
      << "unix_socket_directories = '" << folder_ << "'\n"
      << "fsync = on\nshared_buffers = '64MB'\nmax_connections = 60\n"
      << "hot_standby = on\nwal_level = replica\nmax_wal_size = '512MB'\n"
      // A standby looks for its primary that often, and heeds a promotion only then: by default
      // every five seconds.
      << "wal_retrieve_retry_interval = '100ms'\n";
  Start();
}

PostgresServer::~PostgresServer() {
  if (running()) Kill();
  RemoveFolder(folder_);
}

std::string PostgresServer::Connection() const { return Connection({this}); }

std::string PostgresServer::Connection(const std::vector<const PostgresServer*>& servers) {
  const auto folder = [](std::string* out, const PostgresServer* server) {
    out->append(server->folder_);
  };
  return absl::StrCat("host=", absl::StrJoin(servers, ",", folder), " user=", kUser,
                      " dbname=postgres");
}

void PostgresServer::Start() {
  pid_ = Spawn({"postgres", "-D", data()}, folder_ + "/server.log");
  Await("SELECT 1", "1");
}

void PostgresServer::Stop() {
  ::kill(pid_, SIGINT);
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_ || status != 0) {
    Die(absl::StrCat("did not stop\n", Log()));
  }
  pid_ = 0;
}

void PostgresServer::Kill() {
  // Stopped first, so that it starts none while its processes are counted.
  ::kill(pid_, SIGSTOP);
  const std::vector<pid_t> children = ChildrenOf(pid_);
  ::kill(pid_, SIGKILL);
  for (pid_t child : children) ::kill(child, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void PostgresServer::Freeze() {
  ::kill(pid_, SIGSTOP);
  for (const pid_t child : ChildrenOf(pid_)) ::kill(child, SIGSTOP);
}

std::unique_ptr<PostgresServer> PostgresServer::MakeSynchronousStandby() {
  std::unique_ptr<PostgresServer> standby(new PostgresServer(Empty()));
  RunToEnd({"pg_basebackup", "-D", standby->data(), "-h", folder_, "-U", kUser, "-R", "-X",
            "stream", "-c", "fast", "--no-sync"},
           standby->folder_ + "/basebackup.log");
  // The later setting of a name wins.
  std::ofstream(standby->data() + "/postgresql.conf", std::ios::app)
      << "unix_socket_directories = '" << standby->folder_ << "'\n";
  // A promoted standby has no standby of its own.
  std::ofstream(standby->data() + "/postgresql.auto.conf", std::ios::app)
      << "synchronous_standby_names = ''\n";
  standby->Start();
  Must("ALTER SYSTEM SET synchronous_standby_names = '*'");
  Must("SELECT pg_reload_conf()");
  Await("SELECT sync_state FROM pg_stat_replication", "sync");
  return standby;
}

void PostgresServer::Promote() {
  Must("SELECT pg_promote(true, 60)");
  Await("SELECT pg_is_in_recovery()", "f");
}

absl::StatusOr<std::string> PostgresServer::Query(const std::string& sql) const {
  PGconn* const connection = PQconnectdb(Connection().c_str());
  PQsetNoticeProcessor(
      connection, [](void*, const char*) {}, nullptr);
  PGresult* const result =
      PQstatus(connection) == CONNECTION_OK ? PQexec(connection, sql.c_str()) : nullptr;
  absl::StatusOr<std::string> answer = "";
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    answer = absl::InternalError(absl::StrCat(sql, ": ", PQerrorMessage(connection)));
  } else if (PQntuples(result) > 0) {
    answer = PQgetvalue(result, 0, 0);
  }
  PQclear(result);
  PQfinish(connection);
  return answer;
}

std::string PostgresServer::Must(const std::string& sql) const {
  absl::StatusOr<std::string> answer = Query(sql);
  if (!answer.ok()) Die(absl::StrCat(answer.status().message(), "\n", Log()));
  return *std::move(answer);
}

void PostgresServer::Await(const std::string& sql, const std::string& answer) const {
  const absl::Time latest = absl::Now() + kLongest;
  absl::StatusOr<std::string> last = Query(sql);
  while (!last.ok() || *last != answer) {
    if (absl::Now() > latest) {
      Die(absl::StrCat(sql, ": never answered ", answer, ", but ",
                       last.ok() ? *last : std::string(last.status().message()), "\n", Log()));
    }
    absl::SleepFor(absl::Milliseconds(20));
    last = Query(sql);
  }
}

std::string PostgresServer::Log() const {
  std::ostringstream output;
  output << std::ifstream(folder_ + "/server.log").rdbuf();
  return output.str();
}

}  // namespace dpledger
