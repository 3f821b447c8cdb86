import type { EnabledTool } from '../../tools/toolset.ts'
import type { RunPrompt, RunSession } from '../runtime.ts'
import type { Block, Message } from './conversation.ts'

interface RequestParts {
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly messages: readonly Message[]
  readonly tools: ReadonlyMap<string, EnabledTool>
}

const defaultMaxTokens = 16_000

/** Where the provider may cut its prompt cache; others ignore the mark. */
const cacheMark = { cache_control: { type: 'ephemeral' } }

/** The Messages API body for the next step of a run. Pure: the same conversation gives the same body. */
export function modelRequestBody({
  session,
  prompt,
  messages,
  tools,
}: RequestParts): Readonly<Record<string, unknown>> {
  const maxTokens = session.config['max_tokens']
  const enabled = [...tools.values()].filter(({ policy }) => policy !== 'deny')
  return {
    model: prompt.model,
    max_tokens: Number.isInteger(maxTokens) && Number(maxTokens) > 0 ? maxTokens : defaultMaxTokens,
    system: systemBlocks(prompt.system ?? session.system, session, enabled.length > 0),
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

/** The agent's own prompt first, then what every agent should know of its place. */
function systemBlocks(system: string, { timezone }: RunSession, hasTools: boolean): Block[] {
  const place = [
    hasTools
      ? 'Your files are in /workspace; commands start there. It is yours alone, and it stays for the whole session.'
      : '',
    timezone === null ? '' : `The user's time zone is ${timezone}.`,
  ]
  const texts = [system, place.filter(line => line !== '').join('\n')].filter(text => text.trim() !== '')
  return texts.map((text, at) => ({ type: 'text', text, ...(at === texts.length - 1 && cacheMark) }))
}

function withCacheMark(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (!last || !block) return messages
  return [
    ...messages.slice(0, -1),
    { role: last.role, content: [...last.content.slice(0, -1), { ...block, ...cacheMark }] },
  ]
}
