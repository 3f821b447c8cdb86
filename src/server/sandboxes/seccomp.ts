interface SystemCalls {
  /** AUDIT_ARCH_* of the kernel. */
  readonly architecture: number
  readonly clone: number
  readonly unshare: number
  readonly socket: number
  readonly socketpair: number
  readonly denied: readonly number[]
}

/** Same numbers on all processors: io_uring (425-427), the mount calls of 5.2 and later, pidfd_getfd, quotactl_fd. */
const recent = [425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443]

// In both lists: ptrace, process_vm_*, mount, umount2, pivot_root, chroot, setns, keys, bpf, perf_event_open,
// userfaultfd, kexec, modules, file handles, syslog, acct, swap, reboot, quotactl.
const systemCalls: Partial<Record<NodeJS.Architecture, SystemCalls>> = {
  x64: {
    architecture: 0xc000003e,
    clone: 56,
    unshare: 272,
    socket: 41,
    socketpair: 53,
    denied: [
      101, 310, 311, 165, 166, 155, 161, 308, 248, 249, 250, 321, 298, 323, 246, 320, 175, 313, 176, 304, 303, 103, 163,
      167, 168, 169, 179,
    ].concat(recent),
  },
  arm64: {
    architecture: 0xc00000b7,
    clone: 220,
    unshare: 97,
    socket: 198,
    socketpair: 199,
    denied: [
      117, 270, 271, 40, 39, 41, 51, 268, 217, 218, 219, 280, 241, 282, 104, 294, 105, 273, 106, 265, 264, 116, 89, 224,
      225, 142, 60,
    ].concat(recent),
  },
}

const clone3 = 435
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e020000
/**
 * AF_UNIX, AF_INET and AF_INET6. A network namespace does not contain all others: AF_VSOCK reaches the host of a VM.
 */
const families = [1, 2, 10]
const netlink = 16
/** Programs list their interfaces with it (`os.networkInterfaces` in Node, `getifaddrs`); a namespace contains it. */
const netlinkRoute = 0
/** On x64, numbers from here on are x32 calls, which would bypass the list. */
const x32 = 0x40000000

const load = 0x20
const jumpIfEqual = 0x15
const jumpIfAtLeast = 0x35
const jumpIfBits = 0x45
const answer = 0x06

const allow = 0x7fff0000
const errorEPERM = 0x00050001
const errorENOSYS = 0x00050026
const errorEAFNOSUPPORT = 0x00050061

const numberOffset = 0
const architectureOffset = 4
const firstArgumentOffset = 16
const thirdArgumentOffset = 32

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

const deny = (number: number, error: number): Instruction[] => [
  [jumpIfEqual, 0, 1, number],
  [answer, 0, 0, error],
]

const denyNamespaces = (number: number): Instruction[] => [
  [jumpIfEqual, 0, 4, number],
  [load, 0, 0, firstArgumentOffset],
  [jumpIfBits, 0, 1, newNamespaces],
  [answer, 0, 0, errorEPERM],
  [answer, 0, 0, allow],
]

/** The kernel reads both arguments as 32 bits, so the upper halves are ignored. */
const onlyFamilies = (number: number): Instruction[] => [
  [jumpIfEqual, 0, families.length + 6, number],
  [load, 0, 0, firstArgumentOffset],
  ...families.map((family, index): Instruction => [jumpIfEqual, families.length - index + 3, 0, family]),
  [jumpIfEqual, 0, 2, netlink],
  [load, 0, 0, thirdArgumentOffset],
  [jumpIfEqual, 1, 0, netlinkRoute],
  [answer, 0, 0, errorEAFNOSUPPORT],
  [answer, 0, 0, allow],
]

/**
 * Returns a compiled filter that denies privileged system calls which no tool needs, and sockets of families outside of
 * a sandbox's network; undefined for an unknown processor. Format: an array of `struct sock_filter`, for bubblewrap's
 * `--seccomp`.
 */
export function seccompFilter(processor: NodeJS.Architecture): Buffer | undefined {
  const calls = systemCalls[processor]
  if (!calls) return undefined
  const program: Instruction[] = [
    [load, 0, 0, architectureOffset],
    [jumpIfEqual, 1, 0, calls.architecture],
    [answer, 0, 0, errorENOSYS],
    [load, 0, 0, numberOffset],
    [jumpIfAtLeast, 0, 1, x32],
    [answer, 0, 0, errorENOSYS],
    // The flags of clone3 are in memory, which a filter cannot read. Without it the C library falls back to clone.
    ...deny(clone3, errorENOSYS),
    ...calls.denied.flatMap(number => deny(number, errorEPERM)),
    ...onlyFamilies(calls.socket),
    ...onlyFamilies(calls.socketpair),
    ...denyNamespaces(calls.clone),
    ...denyNamespaces(calls.unshare),
    [answer, 0, 0, allow],
  ]
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value, index * 8 + 4)
  }
  return bytes
}
