/** A control that an attack must not get past. Its checks are the tests of `<id>-<topic>.check.ts` in this folder. */
export interface Control {
  readonly id: string
  readonly claim: string
}

/** Every control that `npm run security` attacks, in the order of its report. */
export const controls: readonly Control[] = [
  { id: 'H1', claim: 'children get only the descriptors that the service passes' },
  { id: 'H2', claim: 'the sandbox opens UNIX, IPv4 and IPv6 sockets, and NETLINK to list interfaces' },
  { id: 'H3', claim: 'work that a key has set up keeps the limits and the life of that key' },
  { id: 'H4', claim: 'patterns of a model or a caller never block the process' },
  { id: 'H5', claim: 'the scripted model reads any prompt in linear time' },
  { id: 'H6', claim: 'a workspace cannot fill the disk of the service' },
  { id: 'H7', claim: 'the tools of all sessions hold a bounded amount of memory' },
  { id: 'M1', claim: 'keys that a limited key makes share its budget and set no prices' },
  { id: 'M2', claim: 'a limited admin key changes only the keys below it' },
  { id: 'M3', claim: 'endpoints for all owners belong to admins and end with their key' },
  { id: 'M4', claim: 'a captured signed delivery is accepted once' },
  { id: 'M5', claim: 'stalled readers hold a bounded amount of memory and are disconnected' },
  { id: 'M6', claim: 'the embedded database runs under a user that it shares with no other service' },
  { id: 'M7', claim: 'without a key, web pages of another origin cannot call the service' },
  { id: 'M8', claim: 'credentials that an upstream echoes in any encoding are masked' },
  { id: 'L1', claim: 'cursors with any bytes are answered with 400' },
  { id: 'L2', claim: 'a connection with unfinished headers is closed after 10 s' },
  { id: 'L3', claim: 'agents of scoped keys name only vault entries of their owner' },
  { id: 'L4', claim: 'signatures are decoded strictly' },
  { id: 'L5', claim: 'SIGUSR1 does not open the inspector' },
  { id: 'L6', claim: 'free-form JSON has a bounded number of members' },
  { id: 'L7', claim: 'a sandbox uses a bounded share of the processors' },
  { id: 'S25', claim: 'a secret of a sandbox network reaches its host only, and never the sandbox' },
  { id: 'S36', claim: 'no call and no session of a hostile model has success in any sandbox' },
  { id: 'L8', claim: 'a filled ledger slows callers down and reports the cause' },
]
