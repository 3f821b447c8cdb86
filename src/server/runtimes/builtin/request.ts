import { isAbsent, type Json, recordOf } from '../../platform/json.ts'
import type { EnabledTool } from '../../tools/toolset.ts'
import { placeOf } from '../prompt-words.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'
import type { Block, Message } from './context/blocks.ts'
import { limitsOf } from './context/limits.ts'
import { schemaWords } from './result.ts'
import type { Run } from './run.ts'

interface RequestParts {
  readonly session: RunSession
  readonly prompt: RunPrompt
  /** Block that holds the agent's memories; empty without any. */
  readonly memories: string
  readonly messages: readonly Message[]
  readonly maxTokens: number
  /** What the answer has to fit; undefined: it is for people. */
  readonly schema: Json | undefined
  readonly tools: ReadonlyMap<string, EnabledTool>
}

/** Where the provider may cut its prompt cache; others ignore the mark. */
const cacheMark = { cache_control: { type: 'ephemeral' } }

/** The Messages API body for the next step of a run. Pure: the same conversation gives the same body. */
export function modelRequestBody({
  session,
  prompt,
  memories,
  messages,
  maxTokens,
  schema,
  tools,
}: RequestParts): Readonly<Record<string, unknown>> {
  const settings = recordOf(session.config['model_settings'])
  const enabled = [...tools.values()].filter(({ policy }) => policy !== 'deny')
  return {
    model: prompt.model,
    max_tokens: maxTokens,
    ...samplingOf(settings),
    system: systemBlocks(prompt.system ?? session.system, session, { memories, schema, hasTools: enabled.length > 0 }),
    messages: withCacheMark(messages),
    ...(enabled.length > 0 && {
      tools: enabled.map(({ tool }) => ({
        name: tool.name,
        description: tool.description,
        input_schema: tool.inputSchema,
      })),
    }),
  }
}

/** The request of a run for a prompt. */
export const bodyOf = (run: Run, prompt: RunPrompt, messages: readonly Message[]): Json => {
  const { session, memories, schema, tools } = run
  return modelRequestBody({
    session,
    prompt,
    memories,
    messages,
    maxTokens: limitsOf(run, prompt).answer,
    schema,
    tools,
  })
}

/** The agent's settings in the words of the Messages API. */
function samplingOf({ effort, thinking, temperature, top_p }: Json): Json {
  return {
    ...(isAbsent(effort) ? {} : { output_config: { effort } }),
    ...(isAbsent(thinking) ? {} : { thinking }),
    ...(isAbsent(temperature) ? {} : { temperature }),
    ...(isAbsent(top_p) ? {} : { top_p }),
  }
}

interface Beside {
  readonly memories: string
  readonly schema: Json | undefined
  readonly hasTools: boolean
}

/**
 * The agent's own prompt first, then what every agent should know of its place, then what it remembers, last the form of
 * the answer. Each session may remember something else, and each prompt ask for another form: the cache is marked before.
 */
function systemBlocks(system: string, session: RunSession, { memories, schema, hasTools }: Beside): Block[] {
  const place = [
    hasTools
      ? 'Your files are in /workspace; commands start there. It is yours alone, and it stays for the whole session.'
      : '',
    placeOf(session),
  ]
  const texts = [system, place.filter(line => line !== '').join('\n')].filter(text => text.trim() !== '')
  const blocks = texts.map((text, at) => ({ type: 'text', text, ...(at === texts.length - 1 && cacheMark) }))
  const remembered = memories === '' ? [] : [{ type: 'text', text: memories, ...cacheMark }]
  const asked = schemaWords(schema)
  return [...blocks, ...remembered, ...(asked === '' ? [] : [{ type: 'text', text: asked }])]
}

/** The messages with the mark at their end. */
export function withCacheMark(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (!last || !block) return messages
  return [
    ...messages.slice(0, -1),
    { role: last.role, content: [...last.content.slice(0, -1), { ...block, ...cacheMark }] },
  ]
}
