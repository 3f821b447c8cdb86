import type { Budgets, Reservation, ReservationRequest } from '../../budgets/budgets.ts'
import type { Payers } from '../../budgets/store.ts'
import { isEmbedding } from '../endpoints/embedding-formats.ts'
import { isEndpoint } from '../endpoints/table.ts'
import { endpointWorstCase } from '../endpoints/worst-case.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import { factsInTier } from '../pricing/service-tier.ts'
import { type WorstCase, worstCase } from '../pricing/worst-case.ts'
import { reachableNames } from '../routing/fallbacks.ts'
import type { Served } from '../routing/router.ts'
import type { RoutingTable } from '../routing/table.ts'
import { inputBoundOf } from '../tokens/input-bound.ts'
import { lostRow, payersOf } from './booking.ts'
import { type Call, isCount, type ParsedRequest } from './call.ts'

/** A call that passed all checks except its budgets. */
export interface Incoming {
  readonly call: Call
  readonly parsed: ParsedRequest
  readonly table: RoutingTable
  /** Deployments of the requested model. */
  readonly candidates: readonly Served[]
  /** Returns the deployments of another model that the caller may use. */
  readonly groupOf: (name: string) => readonly Served[]
  /** Present for requests to a provider's batch API, which wait for hours. */
  readonly batch?: { readonly factsOf: PriceBook['factsOf'] }
}

/**
 * Reserves the maximum cost of a call in the budgets that limit it; undefined for a call that no budget limits. Rejects
 * with AppError when a limit is reached. Source: Gateway, section 4.
 */
export function reservationFor(
  budgets: Pick<Budgets, 'isLimited' | 'reserve'>,
  incoming: Incoming,
): Reservation | Promise<Reservation | undefined> | undefined {
  const payers = payersOf(incoming.call)
  if (!payers) return undefined
  const isLimited = incoming.call.caller.key?.isLimited || budgets.isLimited(payers)
  if (isLimited === false) return undefined
  if (isLimited === true) return reserve(budgets, payers, incoming)
  return isLimited.then(isAny => (isAny ? reserve(budgets, payers, incoming) : undefined))
}

/** Rejects a call that its budgets have no money for now. Reserves nothing. */
export async function requireMoneyFor(
  budgets: Pick<Budgets, 'isLimited' | 'requireMoney'>,
  incoming: Incoming,
): Promise<void> {
  const payers = payersOf(incoming.call)
  if (payers && (incoming.call.caller.key?.isLimited || (await budgets.isLimited(payers))))
    await budgets.requireMoney(requestFor(payers, incoming))
}

/** Limits the groups of a call with a reservation to deployments with a known price. */
export function groupsWithin({ isBudgeted }: Reservation, { call, table, candidates, groupOf }: Incoming) {
  if (!isBudgeted || isCount(call.kind) || table.config.prices.unknown === 'allow') return { candidates, groupOf }
  const priced = (group: readonly Served[]) => group.filter(target => table.isPriced(call.kind, target))
  return { candidates: priced(candidates), groupOf: (name: string) => priced(groupOf(name)) }
}

const reserve = (
  budgets: Pick<Budgets, 'reserve'>,
  payers: Payers,
  incoming: Incoming,
): Reservation | Promise<Reservation> => budgets.reserve(requestFor(payers, incoming))

function requestFor(payers: Payers, incoming: Incoming): ReservationRequest {
  const { call, parsed } = incoming
  const isFree = isCount(call.kind)
  const { amountUsd, tokens, unknown } = isFree ? free : worstOf(incoming)
  return {
    requestId: call.requestId,
    payers,
    amountUsd,
    tokens,
    unknown,
    model: parsed.model,
    isReserved: !isFree,
    mayOutlast: incoming.batch !== undefined,
    principal: call.caller.principal,
    orphanRow: () => lostRow(call, parsed, amountUsd ?? '0'),
  }
}

/** Token counts are free, but count as requests. */
const free: WorstCase = { amountUsd: '0', tokens: 0 }

function worstOf(incoming: Incoming): WorstCase {
  const { call, parsed, table, candidates } = incoming
  const { limits, prices } = table.config
  const targets = possibleTargetsOf(incoming)
  const factsOf = factsInTier(call, parsed.members, (incoming.batch ?? table.prices).factsOf)
  const worst = isEndpoint(call.kind)
    ? endpointWorstCase(call, call.kind, targets, factsOf)
    : worstCase(
        {
          input: inputBoundOf(call, parsed.members, limits.reserveServerToolCalls),
          maxTokens: parsed.maxTokens,
          hasOutput: !isEmbedding(call.kind),
          bytesPerToken: limits.reserveBytesPerToken,
          unlimitedCalls: limits.reserveServerToolCalls,
        },
        targets,
        factsOf,
      )
  const isPriced = candidates.some(target => table.isPriced(call.kind, target))
  if (prices.unknown === 'allow') return worst.unknown === 'price' ? { ...worst, amountUsd: '0' } : worst
  return isPriced ? worst : { amountUsd: null, tokens: worst.tokens, unknown: worst.unknown ?? 'price' }
}

/** Returns all deployments that may serve the call, including fallbacks. */
export function possibleTargetsOf({ call, parsed, table, candidates, groupOf }: Incoming): readonly Served[] {
  const aliasOf = (name: string): string | undefined =>
    (name === parsed.model ? candidates : groupOf(name))[0]?.deployment.alias
  const header = [call.headers['x-switchyard-fallbacks']].flat()[0]
  if (header === undefined && !table.hasFallbacks) return candidates
  const names = reachableNames({ settings: table.config.router, requested: parsed.model, header, aliasOf })
  return names.flatMap(name => (name === parsed.model ? candidates : groupOf(name)))
}
