import type { Json } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'

/** Thinking levels in ascending order. */
export const thinkingLevels = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
export type ThinkingLevel = (typeof thinkingLevels)[number]

/** How thinking is configured for a model. `off` is the budget closest to 0. */
export type ThinkingControl =
  | { readonly by: 'level'; readonly levels: readonly ThinkingLevel[] }
  | { readonly by: 'budget'; readonly min: number; readonly max: number; readonly off: number }
  | { readonly by: 'nothing' }

/** Features of a Gemini model, from its name and the deployment's `capabilities`. */
export interface ModelTraits {
  readonly thinking: ThinkingControl
  /** True if signatures and thoughts may be sent back. */
  readonly readsReasoning: boolean
  /** True if the model rejects a step whose first call has no signature. */
  readonly needsCallSignatures: boolean
  /** True if function responses may contain images and PDFs. */
  readonly takesMediaInResults: boolean
  /** True if native tools or a response schema may be combined with functions. */
  readonly combinesTools: boolean
  /** Maximum of `maxOutputTokens`; undefined if unknown. */
  readonly maxOutputTokens: number | undefined
}

/** Returns the traits of a context's model. A model that reasons only by its `capabilities` is configured by level. */
export function modelTraits(context: Pick<CodecContext, 'deployment' | 'upstreamModel'>): ModelTraits {
  const named = traitsOf(baseModelOf(context))
  const { reasoning } = context.deployment.capabilities ?? {}
  if (reasoning === undefined) return named
  if (!reasoning) return { ...named, thinking: { by: 'nothing' } }
  const lacksControl = named.thinking.by === 'nothing'
  return {
    ...named,
    readsReasoning: true,
    thinking: lacksControl ? { by: 'level', levels: ['LOW', 'MEDIUM', 'HIGH'] } : named.thinking,
  }
}

/** Returns the traits for a model name, with or without a path. Names without a number count as the newest. */
export function traitsOf(model: string): ModelTraits {
  const name = (model.split('/').at(-1) ?? '').toLowerCase()
  const generation = generationOf(name)
  return {
    thinking: thinkingOf(name, generation),
    readsReasoning: generation >= 2.5,
    needsCallSignatures: generation >= 3,
    takesMediaInResults: generation >= 3,
    combinesTools: generation >= 3,
    maxOutputTokens: outputLimitOf(generation),
  }
}

/** Returns the generation, such as 2.5; 0 for models other than Gemini. */
function generationOf(name: string): number {
  if (!name.startsWith('gemini-')) return 0
  if (name === 'gemini-pro' || name === 'gemini-pro-vision') return 1
  const [, number] = /^gemini-(\d+(?:\.\d+)?)/.exec(name) ?? []
  return number === undefined ? Number.POSITIVE_INFINITY : Number(number)
}

function outputLimitOf(generation: number): number | undefined {
  if (generation === 0 || generation >= 4) return undefined
  if (generation >= 3) return 65_536
  return generation >= 2.5 ? 65_535 : 8_192
}

/** Model kinds that reject thinking settings. */
const rejectsThinkingSettings = /-(image|tts|live|audio|robotics|embedding)/

function thinkingOf(name: string, generation: number): ThinkingControl {
  if (generation < 2.5 || rejectsThinkingSettings.test(name)) return { by: 'nothing' }
  if (generation >= 3) return { by: 'level', levels: levelsOf(name) }
  if (name.includes('-pro')) return { by: 'budget', min: 128, max: 32_768, off: 128 }
  return { by: 'budget', min: name.includes('-lite') ? 512 : 1, max: 24_576, off: 0 }
}

/** Returns the levels of a model. Unknown models get the three that all but the first Pro support. */
function levelsOf(name: string): readonly ThinkingLevel[] {
  if (/^gemini-3-pro/.test(name)) return ['LOW', 'HIGH']
  const hasMinimal = /^gemini-3(\.\d+)?-flash-lite|^gemini-3(\.[15])?-flash/.test(name)
  return hasMinimal ? thinkingLevels : ['LOW', 'MEDIUM', 'HIGH']
}

/** Degradations of a request to Gemini, in the order of their recording. */
export class Degradations {
  readonly #found: Degradation[] = []
  #hasCacheControl = false

  note(path: string, action: string): void {
    this.#found.push({ path, action })
  }

  /** Records a cache mark. Gemini caches implicitly, so all marks are dropped and listed once. */
  noteCacheMark(holder: Json): void {
    if (holder['cache_control'] !== undefined && holder['cache_control'] !== null) this.#hasCacheControl = true
  }

  get list(): readonly Degradation[] {
    return this.#hasCacheControl ? [...this.#found, { path: 'cache_control', action: 'dropped' }] : this.#found
  }
}
