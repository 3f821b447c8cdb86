import type { Budgets, Hold } from '../../budgets/budgets.ts'
import type { Payers } from '../../budgets/store.ts'
import { isEmbedding } from '../endpoints/embedding-formats.ts'
import { isEndpoint } from '../endpoints/table.ts'
import { worstOfEndpoint } from '../endpoints/worst-case.ts'
import { type WorstCase, worstCase } from '../pricing/worst-case.ts'
import { reachableNames } from '../routing/fallbacks.ts'
import type { Served } from '../routing/router.ts'
import type { RoutingTable } from '../routing/table.ts'
import { inputBoundOf } from '../tokens/input-bound.ts'
import { lostRow, payersOf } from './booking.ts'
import { type Ask, type Call, isCount } from './call.ts'

/** A call that has passed all checks but those of its budgets. */
interface Incoming {
  readonly call: Call
  readonly ask: Ask
  readonly table: RoutingTable
  /** The deployments of the name that was asked for. */
  readonly asked: readonly Served[]
  /** Those of any name that the caller may use. */
  readonly groupOf: (name: string) => readonly Served[]
}

/**
 * Reserves the most that a call can cost in the budgets that limit it; undefined for a call that none limits. Rejects with what the
 * caller should know when there is no room. Source: Gateway, section 4.
 */
export function holdFor(
  budgets: Pick<Budgets, 'isLimited' | 'hold'>,
  incoming: Incoming,
): Hold | Promise<Hold | undefined> | undefined {
  const payers = payersOf(incoming.call)
  if (!payers) return undefined
  const isLimited = incoming.call.caller.key?.isLimited || budgets.isLimited(payers)
  if (isLimited === false) return undefined
  if (isLimited === true) return hold(budgets, payers, incoming)
  return isLimited.then(isAny => (isAny ? hold(budgets, payers, incoming) : undefined))
}

/** The groups that may serve a call for which something is held: a budget holds only for what has a price. */
export function groupsUnder({ isBudgeted }: Hold, { call, table, asked, groupOf }: Incoming) {
  if (!isBudgeted || isCount(call.kind) || table.config.prices.unknown === 'allow') return { asked, groupOf }
  const priced = (group: readonly Served[]) => group.filter(target => table.isPriced(call.kind, target))
  return { asked: priced(asked), groupOf: (name: string) => priced(groupOf(name)) }
}

function hold(budgets: Pick<Budgets, 'hold'>, payers: Payers, incoming: Incoming): Hold | Promise<Hold> {
  const { call, ask } = incoming
  const isFree = isCount(call.kind)
  const { amountUsd, tokens, unknown } = isFree ? free : worstOf(incoming)
  return budgets.hold({
    requestId: call.requestId,
    payers,
    amountUsd,
    tokens,
    unknown,
    model: ask.model,
    isHeld: !isFree,
    principal: call.caller.principal,
    lost: () => lostRow(call, ask, amountUsd ?? '0'),
  })
}

/** Counting tokens costs nothing, but it is a request. */
const free: WorstCase = { amountUsd: '0', tokens: 0 }

function worstOf(incoming: Incoming): WorstCase {
  const { call, ask, table, asked } = incoming
  const { limits, prices } = table.config
  const candidates = candidatesOf(incoming)
  const { factsOf } = table.prices
  const worst = isEndpoint(call.kind)
    ? worstOfEndpoint(call, call.kind, candidates, factsOf)
    : worstCase(
        {
          input: inputBoundOf(call, ask.members, limits.reserveServerToolCalls),
          maxTokens: ask.maxTokens,
          hasOutput: !isEmbedding(call.kind),
          bytesPerToken: limits.reserveBytesPerToken,
          unlimitedCalls: limits.reserveServerToolCalls,
        },
        candidates,
        factsOf,
      )
  const isPriced = asked.some(target => table.isPriced(call.kind, target))
  if (prices.unknown === 'allow') return worst.unknown === 'price' ? { ...worst, amountUsd: '0' } : worst
  return isPriced ? worst : { amountUsd: null, tokens: worst.tokens, unknown: worst.unknown ?? 'price' }
}

/** Everything that may serve the call, fallbacks included. */
function candidatesOf({ call, ask, table, asked, groupOf }: Incoming): readonly Served[] {
  const aliasOf = (name: string): string | undefined =>
    (name === ask.model ? asked : groupOf(name))[0]?.deployment.alias
  const header = [call.headers['x-switchyard-fallbacks']].flat()[0]
  if (header === undefined && !table.hasFallbacks) return asked
  const names = reachableNames({ settings: table.config.router, asked: ask.model, header, aliasOf })
  return names.flatMap(name => (name === ask.model ? asked : groupOf(name)))
}
