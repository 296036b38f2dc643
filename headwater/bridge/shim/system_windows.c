// Windows. Connections are sockets of the loopback interface, which any process of the machine could open: both ends
// show a secret first, which the server has in its environment. Files are not passed on: what is shared has a name.
#ifdef _WIN32
#include "system.h"

#include <winsock2.h>

#include <bcrypt.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <winioctl.h>
#include <ws2tcpip.h>

enum { SECRET = 16 };             // bytes that each side shows the other
enum { SHOW_MS = 2000 };          // for which whoever connects may take to show its secret
enum { START_MS = 60000 };        // for which a server may take to connect: Python's first start on a machine is slow
enum { PATH_ROOM = 4096 };

// -- what the C run-time library has no entry of its own for, and what the compiler calls

static int print_into(char *text, size_t room, const char *format, va_list values) {
  unsigned long long as_in_c99 = 2; // _CRT_INTERNAL_PRINTF_STANDARD_SNPRINTF_BEHAVIOR
  return __stdio_common_vsprintf(as_in_c99, text, room, format, NULL, values);
}

int snprintf(char *text, size_t room, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int count = print_into(text, room, format, values);
  va_end(values);
  return count;
}

int fprintf(FILE *file, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int count = __stdio_common_vfprintf(0, file, format, NULL, values);
  va_end(values);
  return count;
}

// Called before a stack frame of over a page, with its bytes in rax, and keeps all registers: touches each page in
// turn, because the system adds pages to a stack only at its end.
__asm__(".globl ___chkstk_ms\n"
        "___chkstk_ms:\n"
        "  pushq %rax\n"
        "  pushq %rcx\n"
        "  leaq 24(%rsp), %rcx\n" // the stack pointer of the caller
        "1:\n"
        "  cmpq $4096, %rax\n"
        "  jbe 2f\n"
        "  subq $4096, %rcx\n"
        "  orl $0, (%rcx)\n"
        "  subq $4096, %rax\n"
        "  jmp 1b\n"
        "2:\n"
        "  subq %rax, %rcx\n"
        "  orl $0, (%rcx)\n"
        "  popq %rcx\n"
        "  popq %rax\n"
        "  ret\n");

struct start {
  void (*body)(void *);
  void *what;
};

static DWORD WINAPI run(void *given) {
  struct start start = *(struct start *)given;
  free(given);
  start.body(start.what);
  return 0;
}

int hw_start_thread(void (*body)(void *), void *what) {
  struct start *start = malloc(sizeof *start);
  if (!start)
    return 0;
  *start = (struct start){body, what};
  HANDLE thread = CreateThread(NULL, 0, run, start, 0, NULL);
  if (!thread) {
    free(start);
    return 0;
  }
  CloseHandle(thread);
  return 1;
}

static uint64_t frequency(void) {
  LARGE_INTEGER f;
  QueryPerformanceFrequency(&f);
  return (uint64_t)f.QuadPart;
}

uint64_t hw_now(void) {
  LARGE_INTEGER now;
  QueryPerformanceCounter(&now);
  uint64_t ticks = (uint64_t)now.QuadPart, f = frequency();
  return ticks / f * 1000000000u + ticks % f * 1000000000u / f;
}

uint64_t hw_clock_step(void) {
  uint64_t f = frequency();
  return f < 1000000000u ? 1000000000u / f : 1;
}

uint64_t hw_memory_bytes(void) {
  MEMORYSTATUSEX status = {.dwLength = sizeof status};
  return GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : (uint64_t)1 << 30;
}

void hw_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before, (void)parent, (void)child;
}

// -- texts: UTF-8 here, UTF-16 there

static wchar_t *wide(const char *text) {
  int room = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
  wchar_t *made = room > 0 ? malloc((size_t)room * sizeof *made) : NULL;
  if (made)
    MultiByteToWideChar(CP_UTF8, 0, text, -1, made, room);
  return made;
}

static int narrow(const wchar_t *text, char *made, size_t room) {
  return WideCharToMultiByte(CP_UTF8, 0, text, -1, made, (int)room, NULL, NULL) > 0;
}

int hw_variable(const char *name, char *value, size_t room) {
  wchar_t found[PATH_ROOM], *wanted = wide(name);
  DWORD length = wanted ? GetEnvironmentVariableW(wanted, found, PATH_ROOM) : 0;
  free(wanted);
  return length && length < PATH_ROOM && narrow(found, value, room);
}

FILE *hw_open(const char *path) {
  wchar_t *name = wide(path);
  FILE *file = name ? _wfopen(name, L"r") : NULL;
  free(name);
  return file;
}

int hw_own_path(char *path, size_t room) {
  HMODULE module;
  wchar_t found[PATH_ROOM];
  DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(flags, (LPCWSTR)(uintptr_t)hw_own_path, &module))
    return 0;
  DWORD length = GetModuleFileNameW(module, found, PATH_ROOM);
  return length && length < PATH_ROOM && narrow(found, path, room);
}

// -- the arena: a sparse file that ends with this process, and a mapping whose name is the file's

static int random_bytes(void *data, size_t bytes) {
  return BCryptGenRandom(NULL, data, (ULONG)bytes, BCRYPT_USE_SYSTEM_PREFERRED_RNG) >= 0;
}

static void print_hex(char *text, const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static HANDLE arena_file = INVALID_HANDLE_VALUE; // which ends when it is closed

int hw_make_shared(struct hw_arena *arena, uint64_t size) {
  unsigned char number[8];
  char digits[2 * sizeof number + 1], folder[sizeof arena->name / 2], name[64];
  wchar_t wide_folder[MAX_PATH + 1];
  if (!GetTempPathW(MAX_PATH + 1, wide_folder) || !narrow(wide_folder, folder, sizeof folder) ||
      !random_bytes(number, sizeof number))
    return 0;
  print_hex(digits, number, sizeof number);
  snprintf(name, sizeof name, "headwater-%lu-%s", GetCurrentProcessId(), digits);
  snprintf(arena->name, sizeof arena->name, "%s%s", folder, name);
  wchar_t *path = wide(arena->name);
  DWORD flags = FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE;
  HANDLE file = INVALID_HANDLE_VALUE;
  if (path)
    file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                       CREATE_NEW, flags, NULL);
  free(path);
  if (file == INVALID_HANDLE_VALUE)
    return 0;
  DWORD unused;
  DeviceIoControl(file, FSCTL_SET_SPARSE, NULL, 0, NULL, 0, &unused, NULL); // else it takes all its bytes of the disk
  wchar_t *mapping_name = wide(name);
  HANDLE mapping = mapping_name ? CreateFileMappingW(file, NULL, PAGE_READWRITE, (DWORD)(size >> 32), (DWORD)size,
                                                     mapping_name) : NULL;
  free(mapping_name);
  if (!mapping) {
    CloseHandle(file);
    return 0;
  }
  arena->size = size;
  arena->file = (intptr_t)mapping;
  arena_file = file;
  return 1;
}

int hw_map_arena(struct hw_arena *arena, uint64_t size) {
  // The system keeps eight bytes for each page of a view, touched or not.
  uint64_t memory = (hw_memory_bytes() + 0xffff) & ~(uint64_t)0xffff;
  if (size > memory)
    size = memory;
  if (!hw_make_shared(arena, size))
    return 0;
  arena->base = MapViewOfFile((HANDLE)arena->file, FILE_MAP_ALL_ACCESS, 0, 0, (SIZE_T)size);
  if (!arena->base) {
    CloseHandle((HANDLE)arena->file);
    CloseHandle(arena_file);
    *arena = (struct hw_arena){0};
    return 0;
  }
  return 1;
}

// Parts of a file that is mapped cannot be given back.
void hw_discard(struct hw_arena *arena, uint64_t offset, uint64_t bytes) { (void)arena, (void)offset, (void)bytes; }

// Only CAL's library receives files or shares pages of the program, and there is none for Windows.
intptr_t hw_receive_file(hw_connection connection) { (void)connection; return -1; }
void *hw_map_shared(intptr_t file, uint64_t bytes) { (void)file, (void)bytes; return NULL; }
void hw_unmap_shared(void *memory, uint64_t bytes) { (void)memory, (void)bytes; }
int hw_share_pages(struct hw_arena *arena, void *pages, uint64_t bytes) {
  (void)arena, (void)pages, (void)bytes;
  return 0;
}

// -- the server

static SOCKET listener = INVALID_SOCKET;
static unsigned char secret[2 * SECRET]; // what the server shows, then what it is shown
static HANDLE server;

void hw_bury_server(void) {
  if (server)
    CloseHandle(server);
  server = NULL;
}

// Listen at a port of the loopback interface that the system chooses. 0 if there is none.
static unsigned short listen_once(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  int length = sizeof address;
  if (listener == INVALID_SOCKET) {
    WSADATA data;
    if (WSAStartup(MAKEWORD(2, 2), &data) || !random_bytes(secret, sizeof secret))
      return 0;
    DWORD flags = WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT;
    SOCKET made = WSASocketW(AF_INET, SOCK_STREAM, IPPROTO_TCP, NULL, 0, flags);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (made == INVALID_SOCKET || bind(made, (struct sockaddr *)&address, sizeof address) || listen(made, SOMAXCONN)) {
      closesocket(made);
      return 0;
    }
    listener = made;
  }
  return getsockname(listener, (struct sockaddr *)&address, &length) ? 0 : ntohs(address.sin_port);
}

static void set_patience(SOCKET s, DWORD milliseconds) {
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (const char *)&milliseconds, sizeof milliseconds);
}

// Whoever connects shows that it is the server, and is shown that this is its host.
static int greet(SOCKET s) {
  unsigned char shown[SECRET], wrong = 0;
  set_patience(s, SHOW_MS);
  if (!hw_receive((hw_connection)s, shown, SECRET))
    return 0;
  for (int i = 0; i < SECRET; i++)
    wrong |= shown[i] ^ secret[i];
  set_patience(s, 0);
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, (const char *)&(BOOL){TRUE}, sizeof(BOOL));
  return !wrong && hw_send((hw_connection)s, secret + SECRET, SECRET);
}

// The server's next connection; HW_NO_CONNECTION if it ends or takes too long.
static hw_connection await_connection(void) {
  uint64_t until = hw_now() + (uint64_t)START_MS * 1000000u;
  while (hw_now() < until) {
    fd_set ready;
    FD_ZERO(&ready);
    FD_SET(listener, &ready);
    struct timeval moment = {0, 50000}; // the process is looked at in between
    int count = select(0, &ready, NULL, NULL, &moment);
    if (count < 0)
      break;
    if (!count) {
      if (server && WaitForSingleObject(server, 0) == WAIT_OBJECT_0)
        break;
      continue;
    }
    SOCKET made = accept(listener, NULL, NULL);
    if (made == INVALID_SOCKET)
      continue;
    SetHandleInformation((HANDLE)made, HANDLE_FLAG_INHERIT, 0);
    if (greet(made))
      return (hw_connection)made;
    closesocket(made);
  }
  return HW_NO_CONNECTION;
}

// Whether a variable is the host's own, or names libraries that a server must not load.
static int stays_out(const wchar_t *entry) {
  static const wchar_t *const names[] = {L"PYTHONPATH=", L"PYTHONHOME=", L"OCL_ICD_", L"HEADWATER_SERVER=",
                                         L"HEADWATER_BRIDGE="};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!_wcsnicmp(entry, names[i], wcslen(names[i])))
      return 1;
  return 0;
}

// The entry after one that is put at `to`.
static wchar_t *put(wchar_t *to, const wchar_t *entry) {
  size_t length = wcslen(entry) + 1;
  memcpy(to, entry, length * sizeof *to);
  return to + length;
}

static wchar_t *server_environment(const char *path, unsigned short port) {
  char digits[2 * sizeof secret + 1], bridge[sizeof digits + 32], import_path[PATH_ROOM + 16];
  print_hex(digits, secret, sizeof secret);
  snprintf(bridge, sizeof bridge, "HEADWATER_BRIDGE=%u:%s", port, digits);
  snprintf(import_path, sizeof import_path, "PYTHONPATH=%s", path);
  wchar_t *own = GetEnvironmentStringsW(), *of_bridge = wide(bridge), *of_python = wide(import_path), *made = NULL;
  size_t length = 0;
  if (own && of_bridge && of_python) {
    for (const wchar_t *at = own; *at; at += wcslen(at) + 1)
      length += wcslen(at) + 1;
    made = malloc((length + wcslen(of_bridge) + wcslen(of_python) + 32) * sizeof *made);
  }
  if (made) {
    wchar_t *to = made;
    for (const wchar_t *at = own; *at; at += wcslen(at) + 1)
      if (!stays_out(at))
        to = put(to, at);
    if (*path)
      to = put(to, of_python);
    to = put(to, L"HEADWATER_SERVER=1"); // a server offers no platform to itself
    *put(to, of_bridge) = 0;
  }
  if (own)
    FreeEnvironmentStringsW(own);
  free(of_bridge);
  free(of_python);
  return made;
}

// A handle that the server inherits as its standard output and errors: this process's, or one that swallows all.
static HANDLE output(void) {
  HANDLE own = GetStdHandle(STD_ERROR_HANDLE), made = NULL;
  if (own && own != INVALID_HANDLE_VALUE &&
      DuplicateHandle(GetCurrentProcess(), own, GetCurrentProcess(), &made, 0, TRUE, DUPLICATE_SAME_ACCESS))
    return made;
  SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
  return CreateFileW(L"NUL", GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
}

static DWORD start_process(const char *module, const char *python, const wchar_t *environment) {
  char words[PATH_ROOM + 256];
  snprintf(words, sizeof words, "\"%s\" -m %s", python, module);
  wchar_t *command = wide(words);
  HANDLE errors = output();
  SIZE_T bytes = 0;
  InitializeProcThreadAttributeList(NULL, 1, 0, &bytes);
  STARTUPINFOEXW startup = {.lpAttributeList = malloc(bytes)};
  startup.StartupInfo.cb = sizeof startup;
  startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  startup.StartupInfo.hStdOutput = startup.StartupInfo.hStdError = errors;
  PROCESS_INFORMATION process;
  DWORD failed = ERROR_NOT_ENOUGH_MEMORY;
  if (command && startup.lpAttributeList && InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &bytes)) {
    // Of all that the host lets its children inherit, the server gets this alone. Ctrl-C is the host's.
    UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &errors, sizeof errors, NULL,
                              NULL);
    DWORD flags = EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT | CREATE_NEW_PROCESS_GROUP;
    if (!GetConsoleCP())
      flags |= CREATE_NO_WINDOW;
    failed = 0;
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, flags, (void *)environment, NULL, &startup.StartupInfo,
                        &process))
      failed = GetLastError();
    DeleteProcThreadAttributeList(startup.lpAttributeList);
  }
  if (!failed) {
    CloseHandle(process.hThread);
    server = process.hProcess;
  }
  free(startup.lpAttributeList);
  free(command);
  CloseHandle(errors);
  return failed;
}

hw_connection hw_start_server(struct hw_arena *arena, const char *module, const char *python, const char *path,
                              char *reason, size_t room) {
  unsigned short port = listen_once();
  wchar_t *environment = port ? server_environment(path, port) : NULL;
  if (!environment) {
    snprintf(reason, room, port ? "no memory" : "no socket: error %d", WSAGetLastError());
    return HW_NO_CONNECTION;
  }
  DWORD failed = start_process(module, python, environment);
  free(environment);
  if (failed) {
    snprintf(reason, room, "error %lu of the system", failed);
    return HW_NO_CONNECTION;
  }
  hw_connection made = await_connection();
  uint32_t bytes = (uint32_t)strlen(arena->name);
  if (made != HW_NO_CONNECTION && !(hw_send(made, &bytes, sizeof bytes) && hw_send(made, arena->name, bytes))) {
    hw_close(made);
    made = HW_NO_CONNECTION;
  }
  if (made == HW_NO_CONNECTION)
    snprintf(reason, room, "it ended, or did not answer for %d s", START_MS / 1000);
  return made;
}

hw_connection hw_connect(hw_connection first, const void *request, size_t bytes) {
  return hw_send(first, request, bytes) ? await_connection() : HW_NO_CONNECTION;
}

int hw_send(hw_connection connection, const void *data, size_t bytes) {
  for (const char *at = data; bytes;) {
    int sent = send((SOCKET)connection, at, bytes < 1 << 30 ? (int)bytes : 1 << 30, 0);
    if (sent <= 0)
      return 0;
    at += sent;
    bytes -= (size_t)sent;
  }
  return 1;
}

size_t hw_receive_awake(hw_connection connection, void *data, size_t bytes, uint64_t patience_ns) {
  static atomic_flag waiting = ATOMIC_FLAG_INIT; // one thread at a time: the others leave processors to the server
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  if (system.dwNumberOfProcessors < 2 || atomic_flag_test_and_set(&waiting))
    return 0;
  uint64_t until = hw_now() + patience_ns;
  u_long come = 0;
  while (!ioctlsocket((SOCKET)connection, FIONREAD, &come) && !come && hw_now() < until)
    ;
  int got = come ? recv((SOCKET)connection, data, (int)bytes, 0) : 0;
  atomic_flag_clear(&waiting);
  return got > 0 ? (size_t)got : 0; // all else is `hw_receive`'s to find out
}

int hw_receive(hw_connection connection, void *data, size_t bytes) {
  for (char *at = data; bytes;) {
    int got = recv((SOCKET)connection, at, bytes < 1 << 30 ? (int)bytes : 1 << 30, 0);
    if (got <= 0)
      return 0;
    at += got;
    bytes -= (size_t)got;
  }
  return 1;
}

void hw_close(hw_connection connection) { closesocket((SOCKET)connection); }
#endif
