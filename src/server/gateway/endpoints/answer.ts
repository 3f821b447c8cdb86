import { isRecord, type Json, jsonOr, recordOf } from '../../platform/json.ts'
import type { Attempt, EndpointKind, Outcome, Units } from '../core/call.ts'
import { noTokens, type TokenCounts, tokenCount } from '../tokens/token-counts.ts'
import { charactersOf, type EndpointCall, fieldsOf, requestedUnits, secondsOf, textBytesOf } from './request.ts'
import { endpoints } from './table.ts'

/** Usage that a response reports. */
export interface Stated {
  readonly usage?: Pick<TokenCounts, 'input_tokens' | 'output_tokens' | 'cache_read_tokens'> | undefined
  readonly units: Units
}

type Counts = Pick<Outcome, 'usage' | 'units'>

/**
 * Returns the counts in a `usage` object of any endpoint: tokens under one of their names, or the length of the audio.
 */
export function statedIn(given: unknown): Stated {
  if (!isRecord(given)) return { units: {} }
  const seconds = given['seconds']
  const input =
    tokenCount(given['input_tokens']) ?? tokenCount(given['prompt_tokens']) ?? tokenCount(given['total_tokens'])
  const output = tokenCount(given['output_tokens']) ?? tokenCount(given['completion_tokens']) ?? 0
  const details = firstRecord(given, ['input_tokens_details', 'input_token_details', 'prompt_tokens_details'])
  const cached = tokenCount(details['cached_tokens']) ?? 0
  return {
    ...(input !== undefined && {
      usage: { input_tokens: Math.max(0, input - cached), cache_read_tokens: cached, output_tokens: output },
    }),
    units: {
      ...(isLength(seconds) && { second: seconds }),
      ...unitOf('audio_token', details['audio_tokens']),
      ...unitOf('image_token', details['image_tokens']),
      ...unitOf('query', given['search_units']),
    },
  }
}

const firstRecord = (given: Json, names: readonly string[]): Json =>
  recordOf(names.map(name => given[name]).find(value => isRecord(value)))

const isLength = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < 1e7

function unitOf(unit: keyof Units, value: unknown): Units {
  const count = tokenCount(value)
  return count === undefined || count === 0 ? {} : { [unit]: count }
}

/** Returns the usage in a whole JSON response. Never throws. */
export function statedInAnswer(body: Buffer): Stated {
  const answer = recordOf(jsonOr(body.toString('utf8'), undefined))
  const { usage, units } = statedIn(answer['usage'])
  const billed = recordOf(recordOf(answer['meta'])['billed_units'])
  const { duration, data } = answer
  return {
    usage: usage ?? statedIn(billed).usage,
    units: {
      ...(isLength(duration) && { second: duration }),
      ...unitOf('query', billed['search_units']),
      ...(Array.isArray(data) && { image: data.length }),
      ...units,
    },
  }
}

/**
 * Returns the counts to book: what the response reports, and estimates for the rest. Estimated tokens and recording
 * lengths are marked as estimated; characters, documents and images are counted exactly.
 */
export function countsOf({ call }: Pick<Attempt, 'call'>, kind: EndpointKind, stated: Stated): Counts {
  const fields = fieldsOf({ ...call, kind })
  const { unit } = endpoints[kind]
  const isUnknownLength = unit === 'second' && stated.units.second === undefined && stated.usage === undefined
  const estimate: Units = isUnknownLength ? { second: secondsOf(call, fields).estimate } : {}
  const { image, second, ...others } = { ...requestedUnits(kind, fields), ...estimate, ...stated.units }
  const units: Units = {
    ...others,
    ...(unit === 'image' && image !== undefined && { image }),
    ...(unit === 'second' && second !== undefined && { second }),
  }
  const usage: TokenCounts = stated.usage
    ? { ...noTokens, ...stated.usage }
    : { ...noTokens, ...estimatedTokens(kind, call), estimated: unit === undefined || isUnknownLength }
  return { usage, ...(Object.keys(units).length > 0 && { units }) }
}

const bytesPerToken = 4
/** Speech has about 15 characters and 20 tokens per second. */
const speechTokensPerCharacter = 1.5
const audioTokensPerSecond = 10

/** Estimates the tokens of a request and its response, for upstreams that do not report them. */
function estimatedTokens(
  kind: EndpointKind,
  call: Omit<EndpointCall, 'kind'>,
): Pick<TokenCounts, 'input_tokens' | 'output_tokens'> {
  const fields = fieldsOf({ ...call, kind })
  const text = Math.ceil(textBytesOf(call, fields) / bytesPerToken)
  if (kind === 'speech')
    return {
      input_tokens: text,
      output_tokens: Math.ceil(charactersOf(fields.values['input']) * speechTokensPerCharacter),
    }
  const audio = endpoints[kind].unit === 'second' ? secondsOf(call, fields).estimate * audioTokensPerSecond : 0
  return { input_tokens: text + audio, output_tokens: 0 }
}

/** Estimates the input tokens of a request. */
export const estimatedInput = (call: EndpointCall): number => estimatedTokens(call.kind, call).input_tokens
