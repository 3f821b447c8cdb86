import { invalid } from '../../platform/errors.ts'
import { isAbsent, isRecord, type Json, recordOf, textIn } from '../../platform/json.ts'
import { traitsOf } from './model-traits.ts'
import { type ReasoningWish, reasoningFor } from './reasoning.ts'

/** Takes down what became of something that could not be carried over. `dropped` unless an action is given. */
export type Note = (path: string, action?: string) => void

/** What may be answered when the request sets no limit: all current models allow it. Our choice. */
const defaultMaxTokens = 32_000

/** Settings of a request that both of OpenAI's formats have; those that are absent may be null. */
export interface Settings extends ReasoningWish {
  readonly temperature: unknown
  readonly top_p: unknown
  readonly top_k: unknown
  /** The texts that stop the answer. */
  readonly stop: readonly string[]
  /** 0 for none. */
  readonly maxTokens: number
  /** `{type: 'json_schema', ...}` and its like. */
  readonly format: unknown
  readonly user: unknown
}

interface Options {
  readonly upstreamModel: string
  readonly note: Note
  /** Where the client's format has these. */
  readonly paths: { readonly effort: string; readonly format: string }
}

/** The settings in Anthropic's format. Keys always come in the same order. */
export function anthropicSettings(settings: Settings, { upstreamModel, note, paths }: Options): Json {
  const traits = traitsOf(upstreamModel)
  const maxTokens = settings.maxTokens || defaultMaxTokens
  const { thinking, effort } = reasoningFor(settings, { traits, maxTokens, note: action => note(paths.effort, action) })
  const format = outputFormat(settings.format, paths.format)
  const stops = settings.stop.filter(text => text.trim() !== '')
  if (stops.length < settings.stop.length) note('stop', 'blank_dropped')
  const config = { ...(effort && { effort }), ...(format && { format }) }
  const user = textIn(settings.user)
  return {
    max_tokens: maxTokens,
    ...sampling(settings, { isRefused: !traits.takesSampling, thinks: thinking?.['type'] === 'enabled', note }),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(thinking && { thinking }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(user && { metadata: { user_id: user } }),
  }
}

interface SamplingRules {
  readonly isRefused: boolean
  readonly thinks: boolean
  readonly note: Note
}

function sampling(settings: Settings, { isRefused, thinks, note }: SamplingRules): Json {
  const given = Object.entries({ temperature: settings.temperature, top_p: settings.top_p, top_k: settings.top_k })
  const kept: Record<string, number> = {}
  for (const [name, value] of given) {
    if (isAbsent(value)) continue
    if (typeof value !== 'number') throw invalid(`${name} must be a number`)
    if (isRefused || thinks) note(name)
    // OpenAI's scale ends at 2.
    else if (name === 'temperature' && value > 1) {
      kept[name] = 1
      note(name, 'clamped')
    } else kept[name] = value
  }
  return kept
}

function outputFormat(format: unknown, path: string): Json | undefined {
  if (!isRecord(format) || format['type'] !== 'json_schema') return undefined
  const { schema } = isRecord(format['json_schema']) ? format['json_schema'] : format
  if (!isRecord(schema)) throw invalid(`${path}.schema must be an object`)
  return { type: 'json_schema', schema }
}

/** What a model is told when any JSON object will do: Anthropic's format has no such setting. */
export function jsonHint(format: unknown, path: string, note: Note): string | undefined {
  if (recordOf(format)['type'] !== 'json_object') return undefined
  note(path, 'told_in_system')
  return 'Answer with one JSON object and nothing else: no prose around it and no code fence.'
}
