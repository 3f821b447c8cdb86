import type { Json } from '../../../platform/json.ts'
import { baseModelOf } from '../../core/call.ts'
import type { CodecContext } from '../../core/codec.ts'
import type { Degradation } from '../../core/degradations.ts'

/** From least to most. */
export const thinkingLevels = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
export type ThinkingLevel = (typeof thinkingLevels)[number]

/** How a model lets its thinking be set; `off` is the budget nearest to none. */
export type ThinkingControl =
  | { readonly by: 'level'; readonly levels: readonly ThinkingLevel[] }
  | { readonly by: 'budget'; readonly min: number; readonly max: number; readonly off: number }
  | { readonly by: 'nothing' }

/** What a Gemini model takes, judged by its name and by what its operator says of it. */
export interface ModelTraits {
  readonly thinking: ThinkingControl
  /** Signatures and thoughts may be sent back. */
  readonly readsReasoning: boolean
  /** Refuses the first call of a step when it has no signature. */
  readonly needsCallSignatures: boolean
  /** Takes images and PDFs inside of a function's response. */
  readonly takesMediaInResults: boolean
  /** Takes native tools, or a response schema, side by side with functions. */
  readonly combinesTools: boolean
  /** The most tokens it may be asked for; undefined where that is not known. */
  readonly maxOutputTokens: number | undefined
}

/** The traits of a context's model. One that is said to think and has no name of Gemini's is told a level. */
export function modelTraits(context: Pick<CodecContext, 'deployment' | 'upstreamModel'>): ModelTraits {
  const named = traitsOf(baseModelOf(context))
  const { reasoning } = context.deployment.capabilities ?? {}
  if (reasoning === undefined) return named
  if (!reasoning) return { ...named, thinking: { by: 'nothing' } }
  const isUntold = named.thinking.by === 'nothing'
  return {
    ...named,
    readsReasoning: true,
    thinking: isUntold ? { by: 'level', levels: ['LOW', 'MEDIUM', 'HIGH'] } : named.thinking,
  }
}

/** The traits of a model's name, with or without a path before it. Names without a number are of the newest kind. */
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

/** 0 for models that are no Gemini. */
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

/** Kinds that think by their own rules, or not at all, and refuse settings for it. */
const special = /-(image|tts|live|audio|robotics|embedding)/

function thinkingOf(name: string, generation: number): ThinkingControl {
  if (generation < 2.5 || special.test(name)) return { by: 'nothing' }
  if (generation >= 3) return { by: 'level', levels: levelsOf(name) }
  if (name.includes('-pro')) return { by: 'budget', min: 128, max: 32_768, off: 128 }
  return { by: 'budget', min: name.includes('-lite') ? 512 : 1, max: 24_576, off: 0 }
}

/** Unknown models get the three levels that all but the first Pro take. */
function levelsOf(name: string): readonly ThinkingLevel[] {
  if (/^gemini-3-pro/.test(name)) return ['LOW', 'HIGH']
  const hasMinimal = /^gemini-3(\.\d+)?-flash-lite|^gemini-3(\.[15])?-flash/.test(name)
  return hasMinimal ? thinkingLevels : ['LOW', 'MEDIUM', 'HIGH']
}

/** Collects what a request loses on its way to Gemini, in the order of its finding. */
export class Losses {
  readonly #found: Degradation[] = []
  #hasCacheControl = false

  note(path: string, action: string): void {
    this.#found.push({ path, action })
  }

  /** Gemini caches by itself: marks are left out everywhere and listed once. */
  markCache(holder: Json): void {
    if (holder['cache_control'] !== undefined && holder['cache_control'] !== null) this.#hasCacheControl = true
  }

  get list(): readonly Degradation[] {
    return this.#hasCacheControl ? [...this.#found, { path: 'cache_control', action: 'dropped' }] : this.#found
  }
}
