import { createHash } from 'node:crypto'
import { isAnthropicFormat } from '../../config/protocols.ts'
import { isRecord, recordOf, textOf, withEntries } from '../../platform/json.ts'
import { withBreakpoint } from '../formats/shared/extras.ts'
import { takesCacheBreakpoints } from '../formats/shared/model-traits.ts'
import {
  withinAnswerLimit,
  withinCapabilities,
  withinSamplingRanges,
  withLeastThinking,
  withPossibleChoice,
} from './answer-settings.ts'
import { withCacheMarks } from './cache-marks.ts'
import type { Target } from './call.ts'
import { withClaudeSchema } from './claude-schema.ts'
import { withClientTools } from './client-tools.ts'
import type { CanonicalRequest } from './codec.ts'
import { type Degradation, inOwnNames, type OwnNames } from './degradations.ts'
import { withAnsweredCalls, withObjectInputs } from './normal-calls.ts'
import {
  type StepOptions,
  withImageTypes,
  withMatchedCalls,
  withoutForeignThinking,
  withPossibleThinking,
  withToolsOfHistory,
  withTrimmedPrefill,
  withUserTurnAtEnd,
} from './normal-history.ts'
import { surveyOf } from './survey.ts'
import { type ToolNames, withLegalNames } from './tool-names.ts'
import { withObjectSchemas } from './tool-schemas.ts'

/** Canonical request that the codec of a target can write. */
export interface NormalRequest {
  /** The original object when no step changed it. */
  readonly request: CanonicalRequest
  /** Changes, with the client's names of fields. Renamed tools are not included: the answer restores their names. */
  readonly degraded: readonly Degradation[]
  readonly names: ToolNames
}

/** Returns the request, or a changed copy. */
type Step = (request: CanonicalRequest, options: StepOptions) => CanonicalRequest

const steps: readonly Step[] = [
  withoutBillingHeader,
  withOpaqueUser,
  withClientTools,
  withObjectSchemas,
  withPossibleChoice,
  withinCapabilities,
  withLeastThinking,
  withoutForeignThinking,
  withPossibleThinking,
  withObjectInputs,
  withMatchedCalls,
  withAnsweredCalls,
  withToolsOfHistory,
  withTrimmedPrefill,
  withUserTurnAtEnd,
  withImageTypes,
  withClaudeSchema,
  withCacheBreakpoints,
  withCacheMarks,
  withinAnswerLimit,
  withinSamplingRanges,
]

/**
 * Normalises a request for its target: removes or changes what clients commonly send and upstreams reject, misread or
 * do not cache. Every translated call passes through here before the codec. Changes are reported with the client's
 * names of fields.
 */
export function normalRequest(request: CanonicalRequest, target: Target, names: OwnNames = {}): NormalRequest {
  const degraded: Degradation[] = []
  const survey = surveyOf(request)
  let normal = request
  const note = (path: string, action: string): void =>
    void degraded.push(...inOwnNames([{ path, action }], names, normal))
  for (const step of steps) normal = step(normal, { target, survey, note })
  return { ...withLegalNames(normal, survey.toolNames, target.protocol), degraded }
}

const billingHeader = 'x-anthropic-billing-header'

/** Drops the billing header of Claude Code: it differs in each request and defeats other prompt caches. */
function withoutBillingHeader(request: CanonicalRequest, { note }: StepOptions): CanonicalRequest {
  const { system, ...rest } = request
  if (typeof system === 'string') {
    if (!system.startsWith(billingHeader)) return request
    note('system', 'billing_header_dropped')
    const text = system.slice(`${system}\n`.indexOf('\n')).trimStart()
    return text === '' ? rest : { ...request, system: text }
  }
  if (!Array.isArray(system)) return request
  const blocks: readonly unknown[] = system
  const isBilling = (block: unknown): boolean => textOf(recordOf(block)['text']).startsWith(billingHeader)
  if (!blocks.some(isBilling)) return request
  for (const [index, block] of blocks.entries()) if (isBilling(block)) note(`system.${index}`, 'dropped')
  const others = blocks.filter(block => !isBilling(block))
  return others.length === 0 ? rest : { ...request, system: others }
}

/** An e-mail address, or digits as of a telephone number. */
const personal = /\S@\S+\.\S|^\+?[\d\s().-]{7,}$/
const maxUserLength = 256

/** Hashes a user id that Anthropic's format rejects: it must not be personal, nor longer than 256 characters. */
function withOpaqueUser(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  const metadata = recordOf(request['metadata'])
  const user = textOf(metadata['user_id'])
  if (!isAnthropicFormat(target.protocol) || (user.length <= maxUserLength && !personal.test(user))) return request
  note('metadata.user_id', 'hashed')
  return { ...request, metadata: { ...metadata, user_id: createHash('sha256').update(user).digest('hex') } }
}

/** OpenAI supports four per request, one of which it sets itself near the end of the prompt. */
const maxBreakpoints = 3

/**
 * Returns the request with `cache_control` as breakpoints, where the model supports them: on instructions, user content
 * and tool results, the first ones when there are too many. Tools and assistant content cannot have breakpoints.
 */
function withCacheBreakpoints(request: CanonicalRequest, { target, note }: StepOptions): CanonicalRequest {
  if (!takesCacheBreakpoints(target)) return request
  let left = maxBreakpoints
  const converted = (block: unknown, path: string, isSupported: boolean): unknown => {
    if (!isRecord(block)) return block
    const isResult = block['type'] === 'tool_result'
    const inside = isResult
      ? withEntries(block, 'content', (part, at) => converted(part, `${path}.content.${at}`, true))
      : block
    const { cache_control: mark, ...rest } = inside
    if (mark === undefined) return inside
    if (!isRecord(mark)) return rest
    if (!isSupported || left === 0) {
      note(`${path}.cache_control`, 'dropped')
      return rest
    }
    left--
    // All entries live for half an hour, so a ttl of 5m is met, but not one of 1h.
    if (mark['ttl'] === '1h') note(`${path}.cache_control.ttl`, 'dropped')
    return withBreakpoint(rest)
  }
  const { cache_control: _, ...unmarked } = request
  const inTools = withEntries(unmarked, 'tools', (tool, at) => converted(tool, `tools.${at}`, false))
  const inSystem = withEntries(inTools, 'system', (block, at) => converted(block, `system.${at}`, true))
  return withEntries(inSystem, 'messages', (message, at) =>
    convertedMessage(message, `messages.${at}.content`, converted),
  )
}

type Convert = (block: unknown, path: string, isSupported: boolean) => unknown

const convertedMessage = (message: unknown, path: string, converted: Convert): unknown =>
  isRecord(message)
    ? withEntries(message, 'content', (block, at) => converted(block, `${path}.${at}`, message['role'] !== 'assistant'))
    : message
