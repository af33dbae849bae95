// The trainer's side of dpledger in plain C, for trainers in other languages: draw a sample, clip
// and sum its gradients, add noise, and have it in a ledger before anything leaves.
//
//   dpledger_recorder_open(...); dpledger_sampler_create(...); dpledger_privatizer_create(...);
//   for each step:
//     dpledger_sampler_draw -> the records of the step
//     dpledger_privatizer_begin_step, dpledger_privatizer_accumulate for their gradients
//     dpledger_privatizer_finish -> the noised sum, to be divided by the *expected* batch size
//   dpledger_recorder_close
//
// Link with libdpledger; docs/c-interface.md has an example, client/*.h what stands behind it.
//
// 1. Every call that can fail returns a status, DPLEDGER_OK or an error's code. Its last argument
//    is NULL or an error object, which then says why. No C++ exception comes out: where memory is
//    short a call returns DPLEDGER_RESOURCE_EXHAUSTED.
// 2. On an error nothing is written to results, except that a handle becomes NULL, and nothing is
//    changed, unless the function says otherwise.
// 3. Arguments are copied or read during the call only. What a function lends (text, samples, sums)
//    belongs to the handle, until the call that is named there or until the handle is freed. All
//    text is UTF-8 and ends with a NUL.
// 4. Handles may be freed in any order: what is made with a recorder keeps what it needs of it.
//    Freeing NULL does nothing. NULL where a handle or a result is needed is
//    DPLEDGER_INVALID_ARGUMENT.
// 5. Every struct begins with struct_size, its sizeof where the caller was compiled; what a caller
//    does not use is 0 or NULL, and so is what one of an older version does not have. In an array
//    every element has the same struct_size. One that is too small, or has members set that this
//    library does not know, is DPLEDGER_INVALID_ARGUMENT.
// 6. What is here stays as it is: functions, members at the end of structs and constants may be
//    added, with another DPLEDGER_ABI_MINOR. Anything else is another library, libdpledger.so.2.
//
// Thread safety: a recorder may be used by several threads at once. Any other handle, and an error
// object, by one thread at a time: a sum, a privatizer and a run refuse a second thread with
// FAILED_PRECONDITION. After a fork only the parent may use its handles.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define DPLEDGER_ABI_MAJOR 1
#define DPLEDGER_ABI_MINOR 9

// (major << 16) + minor of the library. It serves a caller that was compiled with the same major
// number and a minor one that is not greater.
uint32_t dpledger_abi_version(void);

// ---------------------------------------------------------------------------------------- errors

// The codes of gRPC. A caller must expect any of 0 to 16.
typedef int32_t dpledger_status;
enum {
  DPLEDGER_OK = 0,
  DPLEDGER_CANCELLED = 1,
  DPLEDGER_UNKNOWN = 2,
  DPLEDGER_INVALID_ARGUMENT = 3,   // an argument is out of its domain
  DPLEDGER_DEADLINE_EXCEEDED = 4,  // the server was not there in time
  DPLEDGER_NOT_FOUND = 5,
  DPLEDGER_ALREADY_EXISTS = 6,
  DPLEDGER_PERMISSION_DENIED = 7,
  DPLEDGER_RESOURCE_EXHAUSTED = 8,   // memory, or the spool's bound
  DPLEDGER_FAILED_PRECONDITION = 9,  // not in this state, or not after a fork
  DPLEDGER_ABORTED = 10,
  DPLEDGER_OUT_OF_RANGE = 11,
  DPLEDGER_UNIMPLEMENTED = 12,
  DPLEDGER_INTERNAL = 13,
  DPLEDGER_UNAVAILABLE = 14,  // the server cannot be reached
  DPLEDGER_DATA_LOSS = 15,    // the server or the spool has lost what it had
  DPLEDGER_UNAUTHENTICATED = 16
};

// "INVALID_ARGUMENT" for 3, and so on; "UNKNOWN" for what is no code. Never NULL; lives for ever.
const char* dpledger_status_name(dpledger_status status);

// Why a call failed. Every call that is given one sets it, to OK if it succeeds.
typedef struct dpledger_error dpledger_error;

// NULL if memory is short.
dpledger_error* dpledger_error_new(void);
void dpledger_error_free(dpledger_error* error);

// What the last call with this object returned; OK for a new one or NULL.
dpledger_status dpledger_error_status(const dpledger_error* error);
// The text is lent until the next call with this object, and never NULL. It is empty after OK.
// What was wrong, and what must hold: "groups[0].clip_norm: must be in [1e-30, 1e+30], got 0".
const char* dpledger_error_message(const dpledger_error* error);
// The argument or member that is wrong, such as "groups[0].clip_norm", or the field of the event
// that the ledger would not take, such as "scheme.poisson.probability"; empty if none is.
const char* dpledger_error_field(const dpledger_error* error);
// For programs, such as "INVALID_FIELD"; empty if there is none.
const char* dpledger_error_reason(const dpledger_error* error);

// ------------------------------------------------------------------------------- sampling schemes

enum {
  DPLEDGER_POISSON = 1,              // each record by itself with `probability`
  DPLEDGER_WITHOUT_REPLACEMENT = 2,  // `sample_size` different records
  DPLEDGER_WITH_REPLACEMENT = 3,     // `sample_size` records, perhaps the same again
  DPLEDGER_FULL_BATCH = 4,           // every record
  DPLEDGER_DISJOINT_BATCHES = 5,     // shuffled epochs: each record in one of `rounds_per_epoch`
  DPLEDGER_RANDOM_ALLOCATION = 6,    // each record into one uniformly chosen round of an epoch
  DPLEDGER_TRUNCATED_POISSON = 7     // Poisson, cut to `sample_size` records at most
};

// How the sample of a round is drawn. Members that a kind has no use for are 0.
typedef struct dpledger_sampling_scheme {
  size_t struct_size;
  int32_t kind;
  int32_t reserved;           // 0
  uint64_t population_size;   // a declared public constant, below 2^53; 0 if it is not stated
  double probability;         // in (0, 1]
  uint64_t sample_size;       // in [1, population_size]; TRUNCATED_POISSON: in [1, 2^53]
  uint64_t rounds_per_epoch;  // in [1, 2^53]
  uint64_t epoch;             // of this round, from 0; kinds with rounds_per_epoch only
  uint64_t contributions;     // RANDOM_ALLOCATION: rounds of an epoch a record is in; 0 means one
  int32_t fixed_bins;         // RANDOM_ALLOCATION, 1: a record stays in its rounds in every epoch
} dpledger_sampling_scheme;

// --------------------------------------------------------------------------------------- recorder

enum {  // which data sets must be hard to tell apart
  DPLEDGER_ADD_OR_REMOVE_ONE = 1,
  DPLEDGER_REPLACE_ONE = 2,
  DPLEDGER_ZERO_OUT = 3
};
enum {  // were schemes, noise and the number of rounds decided without looking at outputs?
  DPLEDGER_FIXED = 1,
  DPLEDGER_ADAPTIVE = 2
};
enum {                       // when a noised sum may leave
  DPLEDGER_FAIL_CLOSED = 1,  // once the server has acknowledged its event
  DPLEDGER_SPOOL = 2         // once its event is durable in the spool
};
enum {                       // the bound that an ADAPTIVE ledger keeps to
  DPLEDGER_RDP_FILTER = 1,   // filter_order > 1, filter_bound: epsilon > 0
  DPLEDGER_ZCDP_FILTER = 2,  // filter_bound: rho > 0
  DPLEDGER_GDP_FILTER = 3,   // filter_bound: mu > 0
  // Of Rényi orders 2 to 24 at once (docs/concepts.md): filter_bound: epsilon > 0; filter_delta
  DPLEDGER_MIXTURE_FILTER = 4
};

// What a trainer promises about the whole ledger (docs/concepts.md). The server checks it.
typedef struct dpledger_declaration {
  size_t struct_size;
  const char* dataset;          // the same name in every ledger over it. 1 to 256 bytes
  const char* unit_of_privacy;  // what one record is: "example", "user". 1 to 256 bytes
  const char* released;         // "final model", "all checkpoints". At most 1024 bytes, or NULL
  const char* description;      // the trainer's own words. At most 4096 bytes, or NULL
  int32_t adjacency;            // one of the three
  int32_t parameters;           // one of the two
  uint64_t planned_rounds;      // FIXED: the number decided in advance; 0 if it is not stated
  int32_t plan_independent;     // 1: the plan did not depend on outputs of other ledgers; else 0
  int32_t filter;               // one of the four, ADAPTIVE only; 0 for none
  double filter_order;
  double filter_bound;
  double filter_delta;  // of a mixture filter: in (0, 1)
  // The budget that the run is held to (docs/budgets.md), or NULL. The filter is the budget's then.
  const char* budget;
  // Of a budget with blocks, those whose units may be in the data, like "1-12,14"; NULL: all.
  const char* blocks;
} dpledger_declaration;

// Keeps what another process needs to carry on a run that was killed: an epoch's partition, the
// noise of a run with correlated noise. In small files, sealed by AES-256-GCM and bound to ledger,
// writer and incarnation: those of another one are refused by name, torn ones with DATA_LOSS, and
// stay as they are. Who has the key and the files can compute the noise: keep them apart.
typedef struct dpledger_run_state {
  size_t struct_size;
  const char* folder;    // of the files, which exists; NULL: the spool's
  const char* key_file;  // holds 32 bytes, readable by its owner alone; the same at every restart
} dpledger_run_state;

typedef struct dpledger_recorder_options {
  size_t struct_size;
  // "host:port": TLS, unless it is of this machine and nothing is said about certificates;
  // "http://host:port" is never TLS. Several of servers over one database, with commas between
  // them: whenever one does not answer the next one is called. NULL: `path`, DPLEDGER_SERVER, or
  // that of client.conf.
  const char* server;
  const char* ledger;  // "name", or "projects/{project}/ledgers/{ledger}"
  // Tells the writers of one ledger apart: 1 to 64 bytes of [A-Za-z0-9._-], the same at every
  // restart. It belongs to the first caller that writes under it (whoever the certificate or token
  // names, also after the token was rotated); others get DPLEDGER_PERMISSION_DENIED. NULL:
  // "trainer".
  const char* writer;
  // The ledger is made with it if it does not exist, and must have been made with an equal one if
  // it does.
  const dpledger_declaration* declaration;
  // On a disk that survives the trainer; made if missing. NULL: `path`/spool; with a server
  // NAME.spool in the working folder, NAME the ledger's last name.
  const char* spool_folder;
  uint64_t spool_bound_bytes;  // 0: 256 MiB
  int32_t policy;              // 0: FAIL_CLOSED
  // 1: the declared plan, FIXED, has rounds of more than one configuration. 0: the first round
  // after a restart must have that of the last one before, as far as the spool knows it.
  int32_t plan_varies;
  // Seconds, finite and >= 0; 0 stands for the number given.
  double open_timeout_seconds;        // 30
  double release_timeout_seconds;     // 300: how long a server may be away
  double full_spool_timeout_seconds;  // 300: how long a round waits for room in a full spool
  double close_timeout_seconds;       // 60
  double stall_timeout_seconds;       // 20: then a silent server is left for the next
  // NULL: nothing is kept, and a run that was killed goes on with a new epoch and new noise. Else
  // one sampler (dpledger_sampler_create_resumable) and one run with correlated noise of this
  // recorder are kept. Since minor version 1.
  const dpledger_run_state* state;
  // PEM files and the file of a token. NULL: what the environment says (DPLEDGER_CA, DPLEDGER_CERT,
  // DPLEDGER_CERT_KEY, DPLEDGER_TOKEN_FILE), or the user's dpledger/client.conf. Since minor
  // version 2.
  const char* ca;               // who signs the server's certificate
  const char* certificate;      // one's own, for mutual TLS
  const char* certificate_key;  // and its key
  const char* token_file;       // read again whenever it changes
  // The verifier key of the server's log, or two with a blank between them: only what one of them
  // has signed counts as acknowledged. NULL: as above (DPLEDGER_LOG_KEY). Since minor version 3.
  const char* log_key;
  // A folder with the ledger, instead of a server: made with mode 0700 if missing, with a signing
  // key of its own. One process at a time has it open, and whoever may write it may append;
  // otherwise all is as with a server (docs/local-ledgers.md). What speaks of a server must be NULL
  // then. NULL, where nothing names a server: NAME.ledger in the working folder, NAME the ledger's
  // last name, which is said on stderr; a caller of an older version gets INVALID_ARGUMENT (server)
  // instead. Since minor version 4.
  const char* path;
  // 1: the declared budget is asked for more whenever a round would cost more than was granted, a
  // sixteenth of what the writer has recorded at a time; and close gives back what is not spent,
  // once all writers have closed. Since minor version 7, as the next.
  int32_t automatic_grants;
  // 1: the declared data set is a new one, however much its name is like another's, which the
  // server would take for a slip (FAILED_PRECONDITION, DATASET_NEARLY_EXISTS).
  int32_t new_dataset;
} dpledger_recorder_options;

// Writes the rounds of one training run into a ledger. Thread safe. Where its options have a path,
// "the server" below is the ledger's folder.
typedef struct dpledger_recorder dpledger_recorder;

// Opens the spool and the ledger, delivers what an earlier process left, and notes the restart if
// there was one. FAILED_PRECONDITION if the ledger has another declaration or is sealed, if the
// writer has closed, or if another process holds the spool; DATA_LOSS if spool or server lost what
// they had; UNAVAILABLE or DEADLINE_EXCEEDED if the server cannot be reached in time (under SPOOL
// only as long as this spool has never seen the ledger with this declaration). With a state:
// NOT_FOUND without the key file, FAILED_PRECONDITION if others may read it or a file is of another
// key, ledger, writer or incarnation, DATA_LOSS if a file is torn. With a path: INVALID_ARGUMENT
// (path) if the folder holds something else, FAILED_PRECONDITION if another process has it open
// (STORE_IN_USE), in a fork of a process that had one open (FORKED), or if its key is missing, of
// another ledger or exposed to others; DATA_LOSS if what it holds was changed.
dpledger_status dpledger_recorder_open(const dpledger_recorder_options* options,
                                       dpledger_recorder** recorder, dpledger_error* error);

// Notes that this writer has ended, and waits until everything is delivered. After an error it may
// be called again; after OK this writer's part of the ledger is complete and it can never be
// opened again.
dpledger_status dpledger_recorder_close(dpledger_recorder* recorder, dpledger_error* error);
// The same, and then nothing can be appended to the ledger any more; of a budget it keeps what it
// has spent. FAILED_PRECONDITION while another writer has not closed. Since minor version 8.
dpledger_status dpledger_recorder_seal(dpledger_recorder* recorder, dpledger_error* error);

// Without close, what is not delivered stays in the spool for the next one. Another can open it
// once the privatizers and runs of this recorder are freed, too.
void dpledger_recorder_free(dpledger_recorder* recorder);

// The ledger's full name, lent until the recorder is freed; NULL for NULL.
const char* dpledger_recorder_ledger(const dpledger_recorder* recorder);

// How many batches (a round is one) the server has not acknowledged yet; `last_error`, unless NULL,
// gets why it was lost or what it refused, and OK after an acknowledgement.
dpledger_status dpledger_recorder_drain_status(const dpledger_recorder* recorder,
                                               uint64_t* undelivered_batches,
                                               dpledger_error* last_error, dpledger_error* error);

// A noised sum over the sample of a round, as the ledger knows it.
enum {
  DPLEDGER_GAUSSIAN = 0,
  DPLEDGER_ROUNDED_GAUSSIAN = 1,  // on integers, as a privatizer's is
  DPLEDGER_DISCRETE_GAUSSIAN = 2
};
typedef struct dpledger_sum_query {
  size_t struct_size;
  const char* group;     // what is summed, for people. At most 256 bytes
  double l2_norm_bound;  // what one record can change in the sum (L2), in its units: > 0
  double noise_stddev;   // of the noise on each coordinate, in the same units: > 0
  int32_t noise;         // one of the three
  int32_t reserved;      // 0
  double grid;  // ROUNDED_GAUSSIAN: the unit, > 0, of the two numbers, which are whole; else 0
} dpledger_sum_query;

// For trainers with noise of their own; a privatizer calls these itself. Records a round with all
// sum queries on its sample, 1 to 9999. Waits for neither the disk nor the network; in a full
// spool, for room. `number` gets what dpledger_recorder_await_releasable takes. OK means that the
// event is in the spool's file. RESOURCE_EXHAUSTED when the spool stays full; FAILED_PRECONDITION
// after close, when another recorder writes under this writer's name, for a first round that does
// not carry on the run (plan_varies), and for an epoch's round where a state keeps epochs, which
// are its sampler's; any refusal of the server; the disk's error.
dpledger_status dpledger_recorder_record_round(dpledger_recorder* recorder,
                                               const dpledger_sampling_scheme* scheme,
                                               const dpledger_sum_query* queries,
                                               size_t query_count, uint64_t* number,
                                               dpledger_error* error);
// The same for a mechanism that is not a round: `event` is a serialised dpledger.v1.MechanismEvent
// of `size` bytes (proto/dpledger/v1/event.proto), a Gaussian or a MatrixMechanism.
dpledger_status dpledger_recorder_record_mechanism(dpledger_recorder* recorder, const void* event,
                                                   size_t size, uint64_t* number,
                                                   dpledger_error* error);
// Sets aside, of the budget that the declaration names (docs/budgets.md), what the run may cost in
// all, in place of what it was granted before: `grant` is a serialised dpledger.v1.BudgetGrant of
// `size` bytes (proto/dpledger/v1/ledger.proto), of which `plan` alone is read. A smaller plan
// gives the rest back. Waits for the server, for open_timeout_seconds. FAILED_PRECONDITION with
// reason BUDGET_EXCEEDED if it does not fit, GRANT_BELOW_SPENT, NO_BUDGET.
dpledger_status dpledger_recorder_request_grant(dpledger_recorder* recorder, const void* grant,
                                                size_t size, dpledger_error* error);
// Waits until everything up to `number` may be released; on an error nothing may be.
// FAILED_PRECONDITION if it was not recorded with this recorder, or (reason FILTER_CROSSED) if it,
// or one before it that nobody awaited, would have crossed the ledger's filter, or
// (BUDGET_EXCEEDED) cost more than the ledger was granted of its budget: that is not in the ledger,
// and others may still be recorded; any refusal of the server; DEADLINE_EXCEEDED when it was not
// durable in release_timeout_seconds, and it may then be awaited again.
dpledger_status dpledger_recorder_await_releasable(dpledger_recorder* recorder, uint64_t number,
                                                   dpledger_error* error);

// ---------------------------------------------------------------------------------------- sampler

// Draws samples exactly by a scheme, which it then says to the ledger.
typedef struct dpledger_sampler dpledger_sampler;

// `scheme` states its population and is one of
//   POISSON                population_size in [1, 2^53)
//   WITHOUT_REPLACEMENT    the same, and sample_size at most 2^32
//   FULL_BATCH             population_size in [1, 2^32]
//   DISJOINT_BATCHES       the same, and rounds_per_epoch in [1, population_size]; `epoch` is 0:
//   RANDOM_ALLOCATION      the sampler numbers its epochs itself, and draws one round of each
// UNIMPLEMENTED for the others, which a trainer draws itself.
dpledger_status dpledger_sampler_create(const dpledger_sampling_scheme* scheme,
                                        dpledger_sampler** sampler, dpledger_error* error);
// Samples that anyone can predict, the same for the same seed: no privacy comes from them, and the
// ledger of a privatizer that takes one says NON_PRIVATE. For tests only.
dpledger_status dpledger_sampler_create_non_private_for_testing(
    const dpledger_sampling_scheme* scheme, uint64_t seed, dpledger_sampler** sampler,
    dpledger_error* error);
// The same samples, for runs that are only compared with each other and that nobody keeps: there
// they count as if they were drawn.
dpledger_status dpledger_sampler_create_to_compare(const dpledger_sampling_scheme* scheme,
                                                   uint64_t seed, dpledger_sampler** sampler,
                                                   dpledger_error* error);
// The sampler that the recorder's state keeps, for schemes with epochs: it goes on in the middle of
// the epoch that a killed process was in, with the same partition and the next round that the
// ledger has not. A round that was recorded and not released is lost; its batch is not drawn again.
// Other schemes have nothing to keep. FAILED_PRECONDITION if the recorder has no state or has had
// such a sampler, and, naming the member, for another scheme than that of the epoch that is carried
// on. Only privatizers of the same recorder take its samples.
dpledger_status dpledger_sampler_create_resumable(const dpledger_sampling_scheme* scheme,
                                                  dpledger_recorder* recorder,
                                                  dpledger_sampler** sampler,
                                                  dpledger_error* error);
void dpledger_sampler_free(dpledger_sampler* sampler);

// How many samples were drawn so far: the number of the last draw. 0 for NULL. Since minor version
// 7.
uint64_t dpledger_sampler_draws(const dpledger_sampler* sampler);

// The next sample: `sample` gets `size` indices in [0, population_size), ascending, lent until the
// next draw; not to be read if `size` is 0. Neither they nor, where it is random, their number may
// be released. FAILED_PRECONDITION after a fork, or under a rounding mode other than to nearest;
// the disk's error where a state keeps the epoch that begins.
dpledger_status dpledger_sampler_draw(dpledger_sampler* sampler, const uint64_t** sample,
                                      size_t* size, dpledger_error* error);

// ------------------------------------------------------------------------------------- privatizer

// Consecutive coordinates that are clipped on their own.
typedef struct dpledger_clip_group {
  size_t struct_size;
  const char* name;  // for people, 1 to 200 bytes; all names differ
  size_t size;       // coordinates
  double clip_norm;  // the greatest L2 norm, in [1e-30, 1e30]; 0 with gamma
  // In [1e-30, 1e30]: gradients are normalised, x / (|x| + gamma), in place of being clipped (Bu et
  // al. 2022). 0: they are clipped.
  double gamma;
  // Joint clipping (McMahan et al. 2018, section 2): the group is part_count parts, whose sizes add
  // up to `size`, each with a scale in [1e-30, 1e30] that does not depend on the data. 0: one part.
  const size_t* part_sizes;
  const double* part_scales;
  size_t part_count;
} dpledger_clip_group;

enum {                         // how the round's noise multiplier is shared among groups
  DPLEDGER_PROPORTIONAL = 0,   // noise proportional to the group's clip norm
  DPLEDGER_LEAST_VARIANCE = 1  // the least total variance
};
enum {                        // how the next clip norm comes from this step's release
  DPLEDGER_MEAN_NORM = 1,     // alpha times the mean norm, norms cut at beta clip_norm
  DPLEDGER_NORM_QUANTILE = 2  // towards the quantile of the norms (Andrew et al. 2021)
};

// Members of the other rule are 0.
typedef struct dpledger_adaptive_clip_norm {
  size_t struct_size;
  int32_t rule;
  int32_t reserved;            // 0
  double alpha;                // MEAN_NORM: in [1e-3, 1e3]
  double beta;                 // MEAN_NORM: in [1e-3, 1e3]
  double quantile;             // NORM_QUANTILE: in [0, 1]
  double learning_rate;        // NORM_QUANTILE: in [1e-6, 10]
  double noise_multiplier;     // of the statistic's own sum query: above the round's
  double expected_batch_size;  // in [1e-9, 1e15]; the sample's real size is a secret
} dpledger_adaptive_clip_norm;

typedef struct dpledger_privatizer_options {
  size_t struct_size;
  const dpledger_clip_group* groups;
  size_t group_count;       // 1 (flat clipping) to 4096
  double noise_multiplier;  // of the whole round, statistics included; the noise is never less
  int32_t allocation;
  // 1: each row is the mean over a microbatch of records, which doubles what one record can change.
  int32_t microbatches;
  const dpledger_adaptive_clip_norm* adaptive;  // NULL: the clip norm stays. Needs one group
  // That clip and draw noise, at most 256; 0: the caller's alone. Results do not depend on it.
  size_t threads;
} dpledger_privatizer_options;

enum {                    // the numbers of gradients
  DPLEDGER_FLOAT32 = 0,   // IEEE 754 binary32
  DPLEDGER_BFLOAT16 = 1,  // the upper half of a binary32
  DPLEDGER_FLOAT16 = 2    // IEEE 754 binary16
};

// The gradients of `count` examples, a row of dimension() coordinates each. A row with a NaN or an
// infinity contributes nothing.
//
// A row must depend on its own record and on what is public alone. Batch normalisation, contrastive
// losses, statistics of a batch and duplicates removed within it couple records: the ledger then
// says too little, and nothing here can notice.
typedef struct dpledger_gradient_rows {
  size_t struct_size;
  const void* first;  // aligned to its numbers
  size_t count;
  size_t stride;     // numbers from the beginning of a row to that of the next; 0: dimension()
  int32_t format;    // of the numbers
  int32_t reserved;  // 0
} dpledger_gradient_rows;

// Turns the gradients of one sample into a noised sum that is safe to release, and says so in the
// ledger first.
typedef struct dpledger_privatizer dpledger_privatizer;

// The error's field is the option that is out of its domain.
dpledger_status dpledger_privatizer_create(const dpledger_privatizer_options* options,
                                           dpledger_recorder* recorder,
                                           dpledger_privatizer** privatizer, dpledger_error* error);
// Noise that anyone can compute, the same for the same seed. The ledger says so in every group's
// name, and in a mechanism before the first round that makes its epsilon infinite. For tests only.
dpledger_status dpledger_privatizer_create_non_private_for_testing(
    const dpledger_privatizer_options* options, dpledger_recorder* recorder, uint64_t seed,
    dpledger_privatizer** privatizer, dpledger_error* error);
// Wipes the sums and the keys.
void dpledger_privatizer_free(dpledger_privatizer* privatizer);

// Coordinates of a row of gradients and of the result; 0 for NULL.
size_t dpledger_privatizer_dimension(const dpledger_privatizer* privatizer);
// That of the first group in the next step, which a resumed run starts from. Public. NaN for NULL.
double dpledger_privatizer_clip_norm(const dpledger_privatizer* privatizer);
// What the ledger will say of the next step: `query` (whose struct_size is set) gets query number
// `index`, one for each group and one for the statistic of an adaptive clip norm. Its name is lent
// until dpledger_privatizer_finish. 0 for NULL.
size_t dpledger_privatizer_query_count(const dpledger_privatizer* privatizer);
dpledger_status dpledger_privatizer_query(const dpledger_privatizer* privatizer, size_t index,
                                          dpledger_sum_query* query, dpledger_error* error);

// Records and opens a round on the sample that `sampler` has drawn last. The round takes no more
// rows than the sample has records. FAILED_PRECONDITION if a round is open, if that sample has had
// its round (each needs a fresh one), with reason SAMPLE_SKIPPED if one since the last round has
// had none (give it an empty one), if the recorder's state keeps epochs and the sampler is not the
// one that it keeps, after a fork, or under a rounding mode other than to nearest; errors of
// dpledger_recorder_record_round.
dpledger_status dpledger_privatizer_begin_step(dpledger_privatizer* privatizer,
                                               dpledger_sampler* sampler, dpledger_error* error);
// The same for the draw of that number (dpledger_sampler_draws, from 1), for trainers whose draws
// run ahead of their rounds: each round but the first takes the one behind the last. Since minor
// version 7.
dpledger_status dpledger_privatizer_begin_step_on_draw(dpledger_privatizer* privatizer,
                                                       dpledger_sampler* sampler, uint64_t draw,
                                                       dpledger_error* error);
// The same for a trainer that draws its samples itself: the ledger says that nothing ties the round
// to them. If they are not drawn by `scheme`, the ledger lies.
dpledger_status dpledger_privatizer_begin_step_by_scheme(dpledger_privatizer* privatizer,
                                                         const dpledger_sampling_scheme* scheme,
                                                         dpledger_error* error);

// Clips the rows and adds them exactly: how they are split into calls does not matter.
// FAILED_PRECONDITION if no step is open.
dpledger_status dpledger_privatizer_accumulate(dpledger_privatizer* privatizer,
                                               const dpledger_gradient_rows* rows,
                                               dpledger_error* error);
// The same where the trainer knows the norms (ghost norms), which saves reading the rows twice:
// norms[r * G + g] is that of row r in group g of the G groups; norm_count is rows->count * G. With
// parts it is the norm of the scaled coordinates. A wrong norm costs accuracy, not privacy, as long
// as it depends on nothing but its own example and what is public.
dpledger_status dpledger_privatizer_accumulate_with_norms(dpledger_privatizer* privatizer,
                                                          const dpledger_gradient_rows* rows,
                                                          const double* norms, size_t norm_count,
                                                          dpledger_error* error);
// Adds what a dpledger_sum with the same options and clip norm has summed in another process, or a
// device: so many sums as that has, of `rows` rows (dpledger_sum_rows). INVALID_ARGUMENT for more
// rows than the sample has records: sums that were added already, or were not cleared since the
// step before, would count their records twice, and the ledger knows of one. Since minor version 9.
dpledger_status dpledger_privatizer_add_sums_of(dpledger_privatizer* privatizer,
                                                const int64_t* sums, size_t count, uint64_t rows,
                                                dpledger_error* error);
// The same for a number of rows that nobody tells: nothing then sees sums that come twice.
dpledger_status dpledger_privatizer_add_sums(dpledger_privatizer* privatizer, const int64_t* sums,
                                             size_t count, dpledger_error* error);

// Ends the round: waits until its event is durable and writes the noised sum, in the gradients'
// units, to `values`, which is not to be read before it returns: it may hold a sum without noise.
// `count` must be dimension(); otherwise INVALID_ARGUMENT, and the round stays open. After any
// other error the round is lost, its sum wiped: begin a new one. Errors of
// dpledger_recorder_await_releasable.
dpledger_status dpledger_privatizer_finish(dpledger_privatizer* privatizer, float* values,
                                           size_t count, dpledger_error* error);

// ------------------------------------------------------------------- runs with correlated noise

enum {  // how the noise of a run's steps is correlated (docs/strategies/dp-ftrl.md)
  DPLEDGER_TREE_AGGREGATION = 1,  // by dyadic intervals of the steps
  DPLEDGER_BANDED_TOEPLITZ = 2,   // by `coefficients`
  DPLEDGER_BUFFERED_TOEPLITZ = 3  // by coefficients that `weights` and `decays` make
};

enum {                          // how the run draws which records take part in which step
  DPLEDGER_NO_SAMPLING = 0,     // not at all: the trainer keeps its promise on participations
  DPLEDGER_CYCLIC_POISSON = 1,  // by groups that take turns; a banded encoder only
  DPLEDGER_BALLS_IN_BINS = 2    // each record in one of several bins, which take turns
};

// Members of other encoders and samplings are 0 or NULL.
typedef struct dpledger_correlated_options {
  size_t struct_size;
  // Of each step, without an adaptive clip norm. Its noise_multiplier is that of one message; what
  // the run costs follows from it, the encoder and the participations.
  const dpledger_privatizer_options* sums;
  uint64_t steps;  // of the whole run: it may end early, but not go on longer
  // A promise of the trainer's: how many steps a record contributes to, in [1, 1024], and how far
  // apart any two of them are at least (1: consecutive ones). Both 1 with a sampling.
  uint64_t max_participations;
  uint64_t min_separation;
  int32_t encoder;
  int32_t reserved;            // 0
  const double* coefficients;  // the first is 1, none is above the one before it or below 0
  size_t coefficient_count;    // 1 to `steps`, and at most 8000
  const double* weights;       // buffer_count numbers >= 0, at most 1 together
  const double* decays;        // buffer_count numbers in [0, 1 - 2^-13]
  size_t buffer_count;         // 1 to 16
  int32_t sampling;            // and all below: since minor version 6
  // CYCLIC_POISSON: 1 where each record's group is drawn without regard to the others, so that the
  // ledger may declare ADD_OR_REMOVE_ONE; 0 for groups of nearly equal size, in the records' order.
  int32_t draw_groups;
  uint64_t population_size;  // in [1, 2^32]: a public constant
  // Groups or bins, in [1, steps]: number i takes part in the steps i, i + period, ... For
  // CYCLIC_POISSON at least the number of coefficients, for a tree at most 2048.
  uint64_t period;
  // CYCLIC_POISSON: of each record of a group in each of its steps, in (0, 1], so that a step has
  // population_size * probability / period records on average.
  double probability;
} dpledger_correlated_options;

// A run whose noise is correlated from step to step (DP-FTRL): sums over many steps carry less of
// it. Without a sampling the ledger's adjacency must be ZERO_OUT or REPLACE_ONE. One event
// for the whole plan is recorded when it begins; a run that ends early is charged its plan. With a
// recorder that has a state the run is kept, and costs nothing more in the process that carries it
// on; without one, that process begins a new run.
typedef struct dpledger_correlated_run dpledger_correlated_run;

// Begins a run, or carries on the one that the recorder's state has kept:
// dpledger_correlated_run_steps_done says from where. The error's field is the option that is out
// of its domain; FAILED_PRECONDITION if the options are not those of the run that is carried on, or
// if the recorder has a state and has had its run; DATA_LOSS if what was kept does not fit
// together; errors of dpledger_recorder_record_mechanism.
dpledger_status dpledger_correlated_run_begin(const dpledger_correlated_options* options,
                                              dpledger_recorder* recorder,
                                              dpledger_correlated_run** run, dpledger_error* error);
// Noise that anyone can compute, the same for the same seed; the ledger says so, and its epsilon is
// infinite. For tests only.
dpledger_status dpledger_correlated_run_begin_non_private_for_testing(
    const dpledger_correlated_options* options, dpledger_recorder* recorder, uint64_t seed,
    dpledger_correlated_run** run, dpledger_error* error);
// Wipes the sums and the keys.
void dpledger_correlated_run_free(dpledger_correlated_run* run);

// Of a row of gradients and of an estimate; 0 for NULL.
size_t dpledger_correlated_run_dimension(const dpledger_correlated_run* run);
// 0 for NULL.
uint64_t dpledger_correlated_run_steps_done(const dpledger_correlated_run* run);

// The records of the step that comes next, in a run with a sampling: `count` indices, ascending,
// lent until the next draw, and the same ones until the step is finished. They and their number are
// secret. FAILED_PRECONDITION without a sampling, once all steps are done, or after a fork. Since
// minor version 6.
dpledger_status dpledger_correlated_run_draw(dpledger_correlated_run* run, const uint64_t** records,
                                             size_t* count, dpledger_error* error);

// To the sum of the step, as those of a privatizer. FAILED_PRECONDITION once all steps are done.
dpledger_status dpledger_correlated_run_accumulate(dpledger_correlated_run* run,
                                                   const dpledger_gradient_rows* rows,
                                                   dpledger_error* error);
dpledger_status dpledger_correlated_run_accumulate_with_norms(dpledger_correlated_run* run,
                                                              const dpledger_gradient_rows* rows,
                                                              const double* norms,
                                                              size_t norm_count,
                                                              dpledger_error* error);
// Since minor version 9.
dpledger_status dpledger_correlated_run_add_sums_of(dpledger_correlated_run* run,
                                                    const int64_t* sums, size_t count,
                                                    uint64_t rows, dpledger_error* error);
dpledger_status dpledger_correlated_run_add_sums(dpledger_correlated_run* run, const int64_t* sums,
                                                 size_t count, dpledger_error* error);

// Ends the step and writes the estimate of its sum, in the gradients' units, to `values`; those of
// all steps so far add up to the estimate of the sum of them all. `count` must be dimension(). On
// an error nothing is lost, and it may be called again: FAILED_PRECONDITION once all steps are
// done, after a fork, or under a rounding mode other than to nearest; errors of
// dpledger_recorder_await_releasable. Where memory was short in the middle of the step
// (RESOURCE_EXHAUSTED) the run has ended: FAILED_PRECONDITION from then on. In a run that is
// carried on, a step that was released before is released again, bit by bit, if it has the same
// sum; with another one it is FAILED_PRECONDITION (reason STEP_DIFFERS), and the step begins again.
dpledger_status dpledger_correlated_run_finish_step(dpledger_correlated_run* run, float* values,
                                                    size_t count, dpledger_error* error);

// Keeps where the run stands, between two steps: the process that carries it on goes on behind the
// step that was saved last. Save the model first, under its number of steps, so that there is one
// for whichever save holds. FAILED_PRECONDITION without a state; errors of
// dpledger_recorder_await_releasable and of the disk, after which the save before holds.
dpledger_status dpledger_correlated_run_save(dpledger_correlated_run* run, dpledger_error* error);

// The records of step `step`, from 0: those from `begin` to `end` - 1, where consecutive batches of
// nearly equal size take turns, so that a record comes again every batches_per_epoch steps.
// population_size in [1, 2^53), batches_per_epoch in [1, population_size].
dpledger_status dpledger_cyclic_batch(uint64_t population_size, uint64_t batches_per_epoch,
                                      uint64_t step, uint64_t* begin, uint64_t* end,
                                      dpledger_error* error);

// -------------------------------------------------------------------------------- sums of a rank

// The exact clipped sums of one rank's share of a sample, before any noise: a secret. The rank that
// has the privatizer adds them to its own; the release is then bit by bit that of one process.
typedef struct dpledger_sum dpledger_sum;

dpledger_status dpledger_sum_create(const dpledger_privatizer_options* options, dpledger_sum** sum,
                                    dpledger_error* error);
// Wipes the sums.
void dpledger_sum_free(dpledger_sum* sum);

// As those of a privatizer, without a step.
size_t dpledger_sum_dimension(const dpledger_sum* sum);
double dpledger_sum_clip_norm(const dpledger_sum* sum);
dpledger_status dpledger_sum_accumulate(dpledger_sum* sum, const dpledger_gradient_rows* rows,
                                        dpledger_error* error);
dpledger_status dpledger_sum_accumulate_with_norms(dpledger_sum* sum,
                                                   const dpledger_gradient_rows* rows,
                                                   const double* norms, size_t norm_count,
                                                   dpledger_error* error);
// Since minor version 9.
dpledger_status dpledger_sum_add_sums_of(dpledger_sum* sum, const int64_t* sums, size_t count,
                                         uint64_t rows, dpledger_error* error);
dpledger_status dpledger_sum_add_sums(dpledger_sum* sum, const int64_t* sums, size_t count,
                                      dpledger_error* error);

// Rows in the sums since they were new or cleared, for dpledger_privatizer_add_sums_of; as secret
// as the sums. 0 for NULL. Since minor version 9.
uint64_t dpledger_sum_rows(const dpledger_sum* sum);
// The sums, for dpledger_privatizer_add_sums_of: `count` of them (dimension(), and one more with an
// adaptive clip norm), lent until the sum is freed. They must travel as secretly as gradients.
dpledger_status dpledger_sum_values(const dpledger_sum* sum, const int64_t** values, size_t* count,
                                    dpledger_error* error);
// Wipes the sums, for the next step.
dpledger_status dpledger_sum_clear(dpledger_sum* sum, dpledger_error* error);
// Of the first group; with an adaptive one, every rank sets what the privatizer has.
// FAILED_PRECONDITION unless the sums are cleared or new.
dpledger_status dpledger_sum_set_clip_norm(dpledger_sum* sum, double clip_norm,
                                           dpledger_error* error);

// ----------------------------------------------------------------------- questions to the server

// What a ledger comes to by the server's accountant. Every call waits for a minute at most; errors
// of the server, such as INVALID_ARGUMENT for a delta that is not in (0, 1).
typedef struct dpledger_cost dpledger_cost;

typedef struct dpledger_cost_values {
  size_t struct_size;
  double lower, upper;  // of the true epsilon of what was spent. Report `upper`; may be infinite
  // The same of the declared plan while fewer rounds than planned are recorded, which covers a run
  // that was stopped for what it showed; else NaN.
  double planned_lower, planned_upper;
  double delta;
  uint64_t entries;             // of the ledger
  const char* ledger;           // its full name. All text is lent until the cost is freed
  const char* root;             // the hash over its entries, in hexadecimal
  const char* method;           // that answered
  const char* const* warnings;  // warning_count texts; NULL if there is none
  size_t warning_count;
} dpledger_cost_values;

// Of the recorder's ledger as the server has it, also after dpledger_recorder_close. Waits until
// the server has every round that was recorded here before the call; DEADLINE_EXCEEDED after the
// recorder's release timeout, saying how many batches it lacks.
dpledger_status dpledger_recorder_cost(const dpledger_recorder* recorder, double delta,
                                       dpledger_cost** cost, dpledger_error* error);
// Writes the recorder's ledger, with what proves that it is the one that was signed, into the file
// `file`, which gets its name when it is whole and replaces one of that name. `dpledger ledger
// verify` checks it, and `dpledger ledger import` makes a sealed copy on a server. Has at least
// every entry that was acknowledged before. Each of its calls waits for a minute at most; errors of
// the server and of the disk; ABORTED if another process is writing the same file. Since minor
// version 4.
dpledger_status dpledger_recorder_export(const dpledger_recorder* recorder, const char* file,
                                         dpledger_error* error);
// `values`, whose struct_size is set, gets what its struct has.
dpledger_status dpledger_cost_read(const dpledger_cost* cost, dpledger_cost_values* values,
                                   dpledger_error* error);
// The whole answer: a serialised dpledger.v1.ComputeEpsilonResponse
// (proto/dpledger/v1/accounting_service.proto) of `size` bytes, lent until the cost is freed. Since
// minor version 7.
dpledger_status dpledger_cost_answer(dpledger_cost* cost, const void** data, size_t* size,
                                     dpledger_error* error);
void dpledger_cost_free(dpledger_cost* cost);

// The least noise multiplier, on the safe side, with which `steps` rounds on Poisson samples stay
// within `epsilon` at `delta` under ADD_OR_REMOVE_ONE, by the server at `server` ("host:port").
dpledger_status dpledger_calibrate_noise(const char* server, double epsilon, double delta,
                                         double sampling_probability, uint64_t steps,
                                         double* noise_multiplier, dpledger_error* error);
// The same for the whole run that `options` describes, but for their sums' noise_multiplier, under
// ZERO_OUT or REPLACE_ONE: to within a millionth. INVALID_ARGUMENT (epsilon) if a multiplier of 256
// is not enough.
dpledger_status dpledger_calibrate_correlated_noise(const char* server,
                                                    const dpledger_correlated_options* options,
                                                    int32_t adjacency, double epsilon, double delta,
                                                    double* noise_multiplier,
                                                    dpledger_error* error);

// ------------------------------------------------------------------------------- ledgers at rest

// Ledgers that are only read, without a server: nothing is appended, signed or written. Since minor
// version 7, as all that follows. All results are lent until the next call with the store.
typedef struct dpledger_store dpledger_store;

// `paths` is `count` of them: the folder of a recorder's ledgers or of a server's embedded store;
// or one or several bundles, which are verified against the keys that they hold themselves. A
// folder is open during each call only, so that a recorder may open it between two; one that
// another process has open is FAILED_PRECONDITION (STORE_IN_USE), one of a recorder of this process
// is read as it is at that moment. INVALID_ARGUMENT (path) for what is none of these; NOT_FOUND;
// DATA_LOSS if it was changed or is damaged.
dpledger_status dpledger_store_open(const char* const* paths, size_t count, dpledger_store** store,
                                    dpledger_error* error);
// The ledger that the recorder writes, on its server or in its folder, for the same questions: all
// that was recorded before is in each answer, or it is DEADLINE_EXCEEDED after the release timeout.
// The store keeps the recorder's folder open until it is freed. Since minor version 8.
dpledger_status dpledger_recorder_store(const dpledger_recorder* recorder, dpledger_store** store,
                                        dpledger_error* error);
void dpledger_store_free(dpledger_store* store);

// A question of dpledger.v1.AccountingService: `method` is ComputeEpsilon, ComputeDelta,
// ComputeProfile, ComputeTuningCost or Calibrate; `question` a serialised message of its request,
// whose subject is not read; `answer` one of its response. It is about the `ledger_count` ledgers
// that are named, composed; if there is none, about those over `dataset`; if that is NULL, about
// all of the store.
dpledger_status dpledger_store_ask(dpledger_store* store, const char* method,
                                   const char* const* ledgers, size_t ledger_count,
                                   const char* dataset, const void* question, size_t question_size,
                                   const void** answer, size_t* answer_size, dpledger_error* error);
// The ledgers, as a JSON array of dpledger.v1.Ledger.
dpledger_status dpledger_store_ledgers(dpledger_store* store, const char** json,
                                       dpledger_error* error);
// Entries from sequence `first` on, each a dpledger.v1.LedgerEntry in JSON, as a JSON array: as
// many as fit into a page. `next` gets the sequence of the next page, 0 after the last. `ledger`
// may be NULL, here and below, if the store has but one.
dpledger_status dpledger_store_entries(dpledger_store* store, const char* ledger, uint64_t first,
                                       const char** json, uint64_t* next, dpledger_error* error);
// The full guarantee, a dpledger.v1.Statement in JSON: of `ledger`, or if that is NULL of
// `dataset`, or if that is NULL too of all ledgers, over one data set. `delta` may be 0: 1e-5 then.
dpledger_status dpledger_store_statement(dpledger_store* store, const char* ledger,
                                         const char* dataset, double delta, const char** json,
                                         dpledger_error* error);
// Compares every entry with the signed checkpoint. `keys` is `key_count` verifier keys that the
// caller has from elsewhere, one of which must have signed; without any it is seen only that the
// ledger agrees with itself. `json` gets what was found. A ledger that is not what was signed is
// DATA_LOSS, naming the first difference.
dpledger_status dpledger_store_verify(dpledger_store* store, const char* ledger,
                                      const char* const* keys, size_t key_count, const char** json,
                                      dpledger_error* error);
// As dpledger_recorder_export, of a ledger in a folder.
dpledger_status dpledger_store_export(dpledger_store* store, const char* ledger, const char* file,
                                      dpledger_error* error);

#pragma GCC visibility pop
#ifdef __cplusplus
}  // extern "C"
#endif
