import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json } from '../../../platform/json.ts'
import type { ClientFormat, CountFormat } from '../../core/client-format.ts'
import type { Degradation, OwnNames } from '../../core/degradations.ts'
import { canonicalRequest, createConversation } from '../shared/conversation.ts'
import { extrasFor } from '../shared/extras.ts'
import { isAnthropicApi } from '../shared/model-traits.ts'
import type { Note } from '../shared/settings.ts'
import { camelCase, field, objectField } from './fields.ts'
import { addContents, addInstruction } from './read-contents.ts'
import { generationSettings } from './read-settings.ts'
import { geminiTools } from './read-tools.ts'
import { createGeminiWriter } from './write-answer.ts'

/** Client format of Google's `generateContent`. */
export const geminiClient: ClientFormat = (request, context) => {
  const { target, stream, model, requestId } = context
  const degraded: Degradation[] = []
  const note: Note = (path, action = 'dropped') => void degraded.push({ path, action })
  const { contents } = request
  if (!Array.isArray(contents)) throw invalid('contents must be an array')
  if (!isAbsent(field(request, 'cachedContent')))
    throw invalid('cachedContent is not supported; send the full contents instead')
  const config = configOf(request)
  const { tools, choice, isForced } = geminiTools(request, target, note)
  const conversation = createConversation(note)
  addInstruction(field(request, 'systemInstruction'), { conversation, note })
  addContents(contents, { conversation, note })
  const { settings, hints, showsThoughts } = generationSettings(config, { target, note, isForced })
  const extras = extrasFor(target, shared(config))
  const body = canonicalRequest(context, {
    settings,
    conversation: conversation.finish(),
    hints,
    tools,
    choice,
    // Google caches implicitly, and requests with tools usually come from agents that repeat their prompt. Our choice.
    isCached: tools.definitions.length > 0 && isAnthropicApi(target),
    extras,
  })
  noteUnused(request, '', note)
  noteUnused(withoutCarried(config, extras), 'generationConfig.', note)
  const writer = createGeminiWriter({
    id: requestId.slice(requestId.indexOf('_') + 1),
    model,
    stream,
    showsThoughts,
    originOf: tools.originOf,
  })
  return { body, degraded, ownNames, writer }
}

const ownNames: OwnNames = {
  max_tokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  top_p: 'generationConfig.topP',
  top_k: 'generationConfig.topK',
  stop_sequences: 'generationConfig.stopSequences',
  thinking: 'generationConfig.thinkingConfig',
  'thinking.budget_tokens': 'generationConfig.thinkingConfig.thinkingBudget',
  'output_config.effort': 'generationConfig.thinkingConfig.thinkingLevel',
  'output_config.format': 'generationConfig.responseSchema',
  tool_choice: 'toolConfig',
  system: 'systemInstruction',
  '*.input_schema': '.parameters',
  '*.source': '',
  '*.id': '.functionCall.id',
}

/** Token counting for Google's clients. */
export const geminiCounts: CountFormat = {
  read(request, context) {
    const { writer, ...read } = geminiClient(countedRequest(request), context)
    return { ...read, problem: writer.problem }
  },
  write: inputTokens => ({ totalTokens: inputTokens }),
}

/** Returns the request to count: the nested `generateContentRequest`, or the body itself. */
function countedRequest(request: Json): Json {
  const whole = objectField(request, 'generateContentRequest')
  return Object.keys(whole).length > 0 ? whole : request
}

/** Names of settings in other formats, by Google's name. */
const sharedNames = {
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
} as const

const shared = (config: Json): Json =>
  Object.fromEntries(Object.entries(sharedNames).map(([own, name]) => [name, field(config, own)]))

const withoutCarried = (config: Json, extras: Json): Json =>
  Object.fromEntries(
    Object.entries(config).filter(([spelling]) => {
      const own = camelCase(spelling)
      return !(own in sharedNames) || !(sharedNames[own as keyof typeof sharedNames] in extras)
    }),
  )

function configOf(request: Json): Json {
  const config = field(request, 'generationConfig')
  if (isAbsent(config)) return {}
  if (!isRecord(config)) throw invalid('generationConfig must be an object')
  return config
}

/** Values with no effect. They are not recorded as dropped. */
const noOpValues: Readonly<Record<string, readonly unknown[]>> = {
  'generationConfig.presencePenalty': [0],
  'generationConfig.frequencyPenalty': [0],
  'generationConfig.responseLogprobs': [false],
  'generationConfig.mediaResolution': ['MEDIA_RESOLUTION_UNSPECIFIED'],
}

/** Records each field that has an effect and was not used. */
function noteUnused(given: Json, prefix: string, note: Note): void {
  for (const [spelling, value] of Object.entries(given)) {
    const path = `${prefix}${camelCase(spelling)}`
    if (isAbsent(value) || used.has(path) || noOpValues[path]?.includes(value)) continue
    note(path.replaceAll(/[^\w.-]/g, '_').slice(0, 80))
  }
}

const used: ReadonlySet<string> = new Set([
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'generationConfig',
  // The model is in the URL path.
  'model',
  'generationConfig.maxOutputTokens',
  'generationConfig.temperature',
  'generationConfig.topP',
  'generationConfig.topK',
  'generationConfig.stopSequences',
  'generationConfig.candidateCount',
  'generationConfig.responseMimeType',
  'generationConfig.responseSchema',
  'generationConfig.responseJsonSchema',
  'generationConfig._responseJsonSchema',
  'generationConfig.responseModalities',
  'generationConfig.thinkingConfig',
])
