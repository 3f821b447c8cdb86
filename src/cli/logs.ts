import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client/client.ts'
import { ServiceUnreachable } from '../client/failures.ts'
import type { UsageCall } from '../contract/usage.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { Out } from './out.ts'
import { plainLine } from './plain-text.ts'
import { textWidth } from './text-width.ts'

/** Filters of the model calls. */
export interface CallFilter {
  readonly model?: string
  readonly outcome?: string
  readonly agent_id?: string
  readonly session_id?: string
  readonly key_id?: string
  readonly from?: string
}

interface LogsArguments {
  readonly limit: number
  readonly filter: CallFilter
  readonly follow: boolean
  readonly stop: AbortSignal
}

const pollMs = 1_000
const pageSize = 200
/** Ids of printed calls that are kept; the service books calls in batches, so late ones can be older than printed ones. */
const maxKept = 2_000

/** `logs`: prints the last model calls, oldest first, and with `follow` the later ones until `stop` aborts. */
export async function showLogs(client: Client, args: LogsArguments, out: Out): Promise<ExitCode> {
  const { limit, filter, follow, stop } = args
  // A whole page, so that the calls before the printed ones are known as old.
  const { calls: old } = await client.usage.calls({ query: { ...filter, limit: follow ? pageSize : limit } })
  print(old.slice(0, limit).toReversed(), out)
  let printed = idsOf(old)
  while (follow && !stop.aborted) {
    await sleep(pollMs, undefined, { signal: stop }).catch(() => undefined)
    if (stop.aborted) break
    const calls = await nextCalls(client, { filter, printed })
    print(calls, out)
    printed = [...printed, ...idsOf(calls)].slice(-maxKept)
  }
  return exitCodes.ok
}

/** Returns the calls that were not printed, oldest first; none while the service is unreachable. */
async function nextCalls(
  client: Client,
  { filter, printed }: { readonly filter: CallFilter; readonly printed: readonly string[] },
): Promise<UsageCall[]> {
  const known = new Set(printed)
  const found: UsageCall[] = []
  let cursor: string | undefined
  try {
    do {
      const query = { ...filter, limit: pageSize, ...(cursor !== undefined && { cursor }) }
      const page = await client.usage.calls({ query })
      found.push(...page.calls.filter(({ id }) => !known.has(id)))
      // A page with a known call reaches what was printed before.
      cursor = page.calls.some(({ id }) => known.has(id)) ? undefined : (page.next_cursor ?? undefined)
    } while (cursor !== undefined && known.size > 0)
  } catch (error) {
    if (!(error instanceof ServiceUnreachable)) throw error
  }
  return found.reverse()
}

/** Returns the first parts that fit; an id is not cut. */
function fitting(parts: readonly string[], width: number): string {
  const text = parts.join('  ')
  return parts.length <= 1 || textWidth(text) <= width ? text : fitting(parts.slice(0, -1), width)
}

const idsOf = (calls: readonly UsageCall[]): string[] => calls.map(({ id }) => id)

function print(calls: readonly UsageCall[], out: Out): void {
  for (const call of calls) {
    out.data(call)
    const cost = call.cost_usd === null ? '-' : `$${Number(call.cost_usd).toFixed(4)}`
    const tokens = `${call.input_tokens + call.cache_read_tokens} in ${call.output_tokens} out`
    const parts = [
      call.created_at.slice(11, 19),
      call.outcome.padEnd(9),
      `${Math.round(call.total_ms)} ms`.padStart(9),
      cost.padStart(8),
      tokens,
      plainLine(call.model, 60),
      plainLine(call.session_id ?? call.principal, 60),
    ]
    const text = fitting(parts, out.columns ?? Number.POSITIVE_INFINITY)
    out.line({ text, tone: call.outcome === 'failed' || call.outcome === 'lost' ? 'bad' : 'plain' })
  }
}
