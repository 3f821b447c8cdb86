import { isAbsent, type Json, recordOf } from '../../platform/json.ts'
import { shownTools } from '../../tools/searched-tools.ts'
import type { RunTool, RunTools } from '../../tools/tool-source.ts'
import { isSandboxTool } from '../../tools/toolset.ts'
import { timezoneNote } from '../prompt-words.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'
import type { Block, Message } from './context/blocks.ts'
import { limitsOf } from './context/limits.ts'
import { acceptedMedia } from './context/media.ts'
import { withFiles } from './context/prompt-files.ts'
import { schemaWords } from './result.ts'
import type { Run } from './run.ts'

interface RequestParts {
  readonly session: RunSession
  readonly prompt: RunPrompt
  /** Text block with the agent's memories; empty without any. */
  readonly memories: string
  /** Text block of the front-end; empty without one. */
  readonly application: string
  readonly messages: readonly Message[]
  readonly maxTokens: number
  /** Schema that the answer must match; undefined for an answer in prose. */
  readonly schema: Json | undefined
  readonly tools: RunTools
  /** Names of the tools that the model has found. */
  readonly found: readonly string[]
}

/** Marks the end of a prefix that the provider may cache; other providers ignore it. */
const cacheMark = { cache_control: { type: 'ephemeral' } }

/** Returns the Messages API body for the next step of a run. The same conversation gives the same body. */
export function modelRequestBody({
  session,
  prompt,
  memories,
  application,
  messages,
  maxTokens,
  schema,
  tools,
  found,
}: RequestParts): Readonly<Record<string, unknown>> {
  const settings = recordOf(session.config['model_settings'])
  const enabled = shownTools(tools, found)
  const hasFiles = worksOnFiles(enabled)
  return {
    model: prompt.model,
    max_tokens: maxTokens,
    ...samplingOf(settings),
    system: systemBlocks(
      systemTexts(prompt.system ?? session.system, session, {
        memories,
        application,
        schema,
        hasFiles,
        failures: tools.failures,
      }),
    ),
    messages: withCacheMark(messages),
    ...(enabled.length > 0 && { tools: enabled.map(toolInRequest) }),
  }
}

/** Reports whether one of the tools works in the sandbox, so that the model has to know where its files are. */
export const worksOnFiles = (tools: readonly Pick<RunTool, 'name'>[]): boolean =>
  tools.some(({ name }) => isSandboxTool(name))

/** Returns a tool as requests to the model contain it. */
export const toolInRequest = ({ name, description, inputSchema }: RunTool) => ({
  name,
  description,
  input_schema: inputSchema,
})

/** Returns the model request of a run for a prompt. */
export const bodyOf = (run: Run, prompt: RunPrompt, messages: readonly Message[]): Json => {
  const { session, memories, application, schema, tools, files, deps, conversation } = run
  return modelRequestBody({
    session,
    prompt,
    memories,
    application,
    messages: withFiles(acceptedMedia(messages, deps.modelInputs(prompt.model)), files),
    maxTokens: limitsOf(run, prompt).answer,
    schema,
    tools,
    found: conversation.foundTools,
  })
}

/** Converts the agent's model settings to fields of the Messages API. */
function samplingOf({ effort, thinking, temperature, top_p }: Json): Json {
  return {
    ...(isAbsent(effort) ? {} : { output_config: { effort } }),
    ...(isAbsent(thinking) ? {} : { thinking }),
    ...(isAbsent(temperature) ? {} : { temperature }),
    ...(isAbsent(top_p) ? {} : { top_p }),
  }
}

interface SystemParts {
  readonly memories: string
  readonly application: string
  readonly schema: Json | undefined
  readonly hasFiles: boolean
  /** Why sources of tools have none in this run. */
  readonly failures: readonly string[]
}

/** A text of the system prompt. */
export interface SystemText {
  readonly kind: 'system' | 'environment' | 'memories' | 'application' | 'failed_tools' | 'output_schema'
  readonly text: string
}

/**
 * Returns the system prompt: the agent's prompt, facts about its environment, its memories, what its front-end says, then missing
 * tools and the schema of the answer.
 */
export function systemTexts(
  system: string,
  session: Pick<RunSession, 'timezone'>,
  { memories, application, schema, hasFiles, failures }: SystemParts,
): SystemText[] {
  const place = [
    hasFiles
      ? 'Your files are in /workspace; commands start there. It is yours alone, and it stays for the whole session.'
      : '',
    timezoneNote(session),
  ]
  const texts: SystemText[] = [
    { kind: 'system', text: system },
    { kind: 'environment', text: place.filter(line => line !== '').join('\n') },
    { kind: 'memories', text: memories },
    { kind: 'application', text: application },
    { kind: 'failed_tools', text: failures.map(failure => `In this run, ${failure}.`).join('\n') },
    { kind: 'output_schema', text: schemaWords(schema) },
  ]
  return texts.filter(({ text }) => text.trim() !== '')
}

/** Memories differ per session and the rest per prompt, so the cache is marked before each of them. */
function systemBlocks(texts: readonly SystemText[]): Block[] {
  const ofAgent = texts.findLastIndex(({ kind }) => kind === 'system' || kind === 'environment')
  return texts.map(({ kind, text }, at) => ({
    type: 'text',
    text,
    ...((at === ofAgent || kind === 'memories') && cacheMark),
  }))
}

/** Returns the messages with a cache mark on the last block. */
export function withCacheMark(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (!last || !block) return messages
  return [
    ...messages.slice(0, -1),
    { role: last.role, content: [...last.content.slice(0, -1), { ...block, ...cacheMark }] },
  ]
}
