import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns'
import { isIP } from 'node:net'
import type { buildConnector as Connector } from 'undici'
import { isPrivateAddress, isPrivateName } from './addresses.ts'
import { buildConnector } from './undici.ts'

/** A connection that was not made because the address is not allowed. `message` names the line that would allow it. */
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
  /** The system's resolver unless given. */
  readonly lookup?: Lookup
}

/** The guard through which every connection to the outside goes. Security S20 to S23. */
export interface Outbound {
  /** A connector for undici. The address that was judged is the one that is connected to. */
  connect(timeoutMs: number): Connector.connector
  /** Why `url` may not be called, as far as its text tells; undefined when it may. Names are judged when they resolve. */
  judge(url: string): string | undefined
  /** True when `outbound.allow` lists the host and port of an address that `judge` takes. */
  lists(url: string): boolean
}

/** Creates the guard. Only `allow` opens private addresses, each for one port. */
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
        // A literal address is connected to without any look-up, so the guard in the look-up never sees it.
        const isClosed =
          isIP(options.hostname) === 0 ? isPrivateName(options.hostname) : isPrivateAddress(options.hostname)
        if (isClosed) return queueMicrotask(() => done(new OutboundBlocked(target), null))
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

/** Why keys and prompts may not go to `url`, as far as its text tells; undefined when they may. Security: S20, S21, S24. */
export function blockedReasonFor(url: string, { judge, lists }: Pick<Outbound, 'judge' | 'lists'>): string | undefined {
  const refusal = judge(url)
  if (refusal !== undefined) return refusal
  // They must not travel in clear, unless the operator has listed the host.
  if (/^https:/i.test(url) || lists(url)) return undefined
  const { hostname, port } = new URL(url)
  return `the address must start with https://, unless "${hostname}:${port || '80'}" is in outbound.allow`
}

/** Passes on only public addresses; with none left the connection fails. */
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
  // Other parsers read a backslash, white space or a control character differently: no two may disagree on the host.
  // So do empty hosts.
  if (/\\|[^\x21-\x7e]|:\/\/\//.test(url)) return 'the address contains characters that URL parsers interpret differently'
  const parsed = URL.parse(url)
  if (parsed === null) return 'the address is not a URL'
  const { protocol, hostname, port, username, password } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return 'the address must start with https:// or http://'
  if (username !== '' || password !== '') return 'the address must not have a user name or password'
  const host = bare(hostname)
  const target = targetOf({ hostname: host, port, protocol })
  if (allowed.has(target)) return undefined
  const isClosed = isIP(host) === 0 ? isPrivateName(host) : isPrivateAddress(host)
  return isClosed ? new OutboundBlocked(target).message : undefined
}

/** `host:port` as `outbound.allow` spells it; IPv6 in brackets. */
function targetOf({ hostname, port, protocol }: { hostname: string; port: string; protocol: string }): string {
  const shown = isIP(hostname) === 6 ? `[${hostname}]` : hostname.toLowerCase()
  return `${shown}:${port || (protocol === 'https:' ? '443' : '80')}`
}

const bare = (hostname: string): string => (hostname.startsWith('[') ? hostname.slice(1, -1) : hostname)

/** The entries of `outbound.allow` in their one spelling; what is no `host:port` goes to `report` with its index. */
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
