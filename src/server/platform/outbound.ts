import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import { isIP } from 'node:net'
import type { buildConnector as Connector } from 'undici'
import { isPrivateAddress, isPrivateHost } from './addresses.ts'
import { buildConnector } from './undici.ts'

/** Error of a blocked connection. `message` contains the entry that would allow it. */
export class OutboundBlocked extends Error {
  readonly code = 'OUTBOUND_REFUSED'

  constructor(target: string) {
    super(`${target} is not a public address; to allow it, add "${target}" to outbound.allow`)
    this.name = 'OutboundBlocked'
  }
}

type LookupCallback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** Resolves a name to all its addresses, as `dns.lookup` does with `all`. */
export type Lookup = (name: string, options: LookupOptions & { all: true }, done: LookupCallback) => void

interface Options {
  /** `host:port`, exact and in lower case. */
  readonly allow: readonly string[]
  /** The resolver of the system by default. */
  readonly lookup?: Lookup
}

/** Guard of all outbound connections. Security: S20 to S23. */
export interface Outbound {
  /** Returns a connector for undici. It connects to exactly the address that was checked. */
  connect(timeoutMs: number): Connector.connector
  /**
   * Returns why the text of `url` is blocked; undefined if it is not. Host names are checked when they are resolved.
   */
  judge(url: string): string | undefined
  /** True if `outbound.allow` lists the host and port of an address that `judge` accepts. */
  lists(url: string): boolean
}

/** Creates the guard. Private addresses are blocked unless `allow` lists them with the port. */
export function createOutbound({ allow, lookup = systemLookup }: Options): Outbound {
  const allowed = new Set(allow)
  return {
    connect(timeoutMs) {
      const open = buildConnector({ timeout: timeoutMs })
      const guarded = buildConnector({
        timeout: timeoutMs,
        lookup: guardedLookup(lookup),
      } as Connector.BuildOptions)
      return (options, done) => {
        const target = targetOf(options)
        if (allowed.has(target)) return open(options, done)
        // Literal addresses are not resolved, so the guarded lookup would not check them.
        if (isPrivateHost(options.hostname)) return queueMicrotask(() => done(new OutboundBlocked(target), null))
        guarded(options, done)
      }
    },
    judge: url => judge(url, allowed),
    lists(url) {
      const { hostname, port, protocol } = new URL(url)
      return allowed.has(targetOf({ hostname: bare(hostname), port, protocol }))
    },
  }
}

/** Returns why keys and prompts must not be sent to `url`; undefined if they may. Security: S20, S21, S24. */
export function blockedReasonFor(url: string, { judge, lists }: Pick<Outbound, 'judge' | 'lists'>): string | undefined {
  const reason = judge(url)
  if (reason !== undefined) return reason
  // Plaintext is only allowed to listed hosts.
  if (/^https:/i.test(url) || lists(url)) return undefined
  const { hostname, port } = new URL(url)
  return `the address must start with https://, unless "${hostname}:${port || '80'}" is in outbound.allow`
}

/** Returns a lookup that only returns public addresses, and fails if there are none. */
function guardedLookup(lookup: Lookup) {
  return (
    name: string,
    options: LookupOptions,
    done: (error: Error | null, address: unknown, family?: number) => void,
  ) => {
    lookup(name, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, [])
      const open = addresses.filter(({ address }) => !isPrivateAddress(address))
      const [first] = open
      if (!first) return done(new OutboundBlocked(name), [])
      if (options.all) done(null, open)
      else done(null, first.address, first.family)
    })
  }
}

function judge(url: string, allowed: ReadonlySet<string>): string | undefined {
  // URL parsers disagree about backslashes, white space, control characters and empty hosts, and so about the host.
  if (/\\|[^\x21-\x7e]|:\/\/\//.test(url))
    return 'the address contains characters that URL parsers interpret differently'
  const parsed = URL.parse(url)
  if (parsed === null) return 'the address is not a URL'
  const { protocol, hostname, port, username, password } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return 'the address must start with https:// or http://'
  if (username !== '' || password !== '') return 'the address must not have a user name or password'
  const host = bare(hostname)
  const target = targetOf({ hostname: host, port, protocol })
  if (allowed.has(target)) return undefined
  return isPrivateHost(host) ? new OutboundBlocked(target).message : undefined
}

/** `host:port` as `outbound.allow` spells it; IPv6 in brackets. */
function targetOf({ hostname, port, protocol }: { hostname: string; port: string; protocol: string }): string {
  const shown = isIP(hostname) === 6 ? `[${hostname}]` : hostname.toLowerCase()
  return `${shown}:${port || (protocol === 'https:' ? '443' : '80')}`
}

const bare = (hostname: string): string => (hostname.startsWith('[') ? hostname.slice(1, -1) : hostname)

/** Returns the normalised entries of `outbound.allow`. Reports entries that are not `host:port` with their index. */
export function parseAllow(entries: readonly string[], report: (index: number, text: string) => void): string[] {
  return entries.flatMap((entry, index) => {
    const port = /:(\d{1,5})$/.exec(entry)?.[1]
    const parsed = /[/\\@?#\s]/.test(entry) ? null : URL.parse(`http://${entry}`)
    if (port === undefined || parsed === null || Number(port) > 65_535 || Number(port) === 0) {
      report(index, `outbound.allow[${index}] must be host:port, such as 10.0.0.5:8080`)
      return []
    }
    return [targetOf({ hostname: bare(parsed.hostname), port: String(Number(port)), protocol: 'http:' })]
  })
}
