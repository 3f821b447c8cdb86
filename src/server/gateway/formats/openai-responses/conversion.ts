import { createHash } from 'node:crypto'
import { isRecord, type Json, recordsOf } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext, ReasoningSeal } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'

/** Lists one thing of a request that could not go out as it was. */
export type Note = (path: Degradation['path'], action: Degradation['action']) => void

/** What the conversion of a conversation needs besides its messages. */
export interface InputContext {
  readonly note: Note
  /** Returns the reasoning item in a signature; undefined for one that the model does not take. */
  readonly openReasoning: ReasoningSeal['open']
}

/** An item of the upstream's input and the place in the request that it comes from. */
export interface PlacedItem {
  readonly path: string
  readonly item: Json & { readonly type: string }
}

/** What both sides accept: Anthropic's alphabet, and the length that the Responses API takes back. */
const legal = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * The id of a tool call as both sides take it. Equal ids stay equal in every turn and on every replica: one that does
 * not fit becomes its digest.
 */
export const callIdOf = (id: string): string =>
  legal.test(id) ? id : `call_${createHash('sha256').update(id).digest('base64url')}`

/** How much a model thinks, from least to most, in the words of the Responses API. */
export const efforts = ['none', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** One of `efforts`. */
export type Effort = (typeof efforts)[number]

/** What the model's name tells about what it takes. */
export interface ModelTraits {
  /** True for models that think: they refuse sampling settings and give reasoning items. */
  readonly reasons: boolean
  /** Empty for models that do not reason. */
  readonly efforts: readonly Effort[]
}

const upTo = (least: Effort, most: Effort): readonly Effort[] =>
  efforts.slice(efforts.indexOf(least), efforts.indexOf(most) + 1)

const plain: ModelTraits = { reasons: false, efforts: [] }
const reasoning = (least: Effort, most: Effort): ModelTraits => ({ reasons: true, efforts: upTo(least, most) })

/** The first row that matches counts. `minimal` is left out: it excludes web search and parallel calls. */
const table: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^gpt-5-chat/, plain],
  [/^gpt-\d+\.\d+-chat/, reasoning('medium', 'medium')],
  [/^gpt-5-pro/, reasoning('high', 'high')],
  [/^gpt-5\.\d+-pro/, reasoning('medium', 'xhigh')],
  [/^gpt-5\.1-codex-max/, reasoning('low', 'xhigh')],
  [/^gpt-5(\.1)?-codex/, reasoning('low', 'high')],
  [/^gpt-5(-|$)/, reasoning('low', 'high')],
  [/^gpt-5\.1(-|$)/, reasoning('none', 'high')],
  [/^gpt-5\.[2-5]-codex/, reasoning('low', 'xhigh')],
  [/^gpt-5\.[2-5](-|$)/, reasoning('none', 'xhigh')],
  [/^gpt-5\.\d+-codex/, reasoning('low', 'max')],
  [/^gpt-5\.\d/, reasoning('none', 'max')],
  [/^gpt-(6-sol|6-luna|6\.1-terra)/, reasoning('none', 'max')],
  [/^gpt-([6-9]|\d\d)/, reasoning('low', 'max')],
  [/^(o\d|codex|gpt-oss)/, reasoning('low', 'high')],
]

/** What its operator says of a model, else what its name tells; a prefix such as `openai/` does not matter. */
export function traitsOf(context: CodecContext): ModelTraits {
  const { reasoning: reasons } = context.deployment.capabilities ?? {}
  if (reasons === false) return plain
  const model = baseModelOf(context)
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  const named = table.find(([pattern]) => pattern.test(name))?.[1] ?? plain
  return reasons && !named.reasons ? reasoning('low', 'high') : named
}

/** The most of what the model takes that is not above `wanted`, else its least. */
export function nearestEffort({ efforts: taken }: ModelTraits, wanted: Effort): Effort {
  const limit = efforts.indexOf(wanted)
  return taken.findLast(effort => efforts.indexOf(effort) <= limit) ?? taken[0] ?? wanted
}

/** Words that strict mode does not know. */
const foreign = ['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'dependentRequired', 'dependentSchemas']

/**
 * True for a schema that the upstream takes as `strict`: every object in it is closed and requires all of its
 * properties. Anthropic's strict mode asks for less, so not every schema of a client fits.
 */
export function fitsStrict(schema: unknown): boolean {
  if (!isRecord(schema)) return false
  const { properties, items, anyOf, $defs, definitions } = schema
  if (foreign.some(word => word in schema)) return false
  const isObject = schema['type'] === 'object' || properties !== undefined
  if (isObject && !isClosed(schema)) return false
  const inner = [properties, $defs, definitions].flatMap(map => (isRecord(map) ? Object.values(map) : []))
  const all = [...inner, ...(isRecord(items) ? [items] : []), ...recordsOf(anyOf)]
  return all.every(fitsStrict)
}

function isClosed(schema: Readonly<Record<string, unknown>>): boolean {
  const names = isRecord(schema['properties']) ? Object.keys(schema['properties']) : []
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return schema['additionalProperties'] === false && names.every(name => required.includes(name))
}
