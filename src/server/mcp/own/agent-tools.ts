import type { StoredAgent } from '../../agents/stored-agent.ts'
import type { Json } from '../../platform/json.ts'

/** Maximum characters of a prompt. */
export const maxPromptChars = 1_000_000
const maxSlug = 16
const idPattern = /^(?:.*_)?([0-9a-f]{32})$/s

/**
 * Returns the name of an agent's tool: the start of the agent's name and the digits of its id, in at most 49 characters, so that it
 * stays unique and short enough for models after a client has added a prefix.
 */
export function agentToolName({ id, name }: Pick<StoredAgent, 'id' | 'name'>): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, maxSlug)
    .toLowerCase()
  return `${slug || 'agent'}_${id.replace('agent_', '')}`
}

/** Returns the id of the agent that a tool name means; undefined for other names. A former name of an agent still means it. */
export function agentIdOf(toolName: string): string | undefined {
  const digits = idPattern.exec(toolName)?.[1]
  return digits === undefined ? undefined : `agent_${digits}`
}

const inputSchema = {
  type: 'object',
  properties: {
    prompt: { type: 'string', minLength: 1, maxLength: maxPromptChars, description: 'What the agent should do' },
    session_id: {
      type: 'string',
      description:
        'Continues in this session of the agent, with its conversation and files; omit it to start a new session',
    },
  },
  required: ['prompt'],
  additionalProperties: false,
} as const

/** Shape of the structured result of agents, and of `get_result`. */
export const resultSchema = {
  type: 'object',
  properties: {
    session_id: { type: 'string', description: 'Send it as `session_id` to continue' },
    prompt_id: { type: 'string' },
    text: { type: 'string', description: 'Messages of the agent' },
    result: { description: 'Typed result, if the agent has an output schema' },
  },
  required: ['session_id', 'prompt_id', 'text'],
} as const

/** Returns the tool of an agent as `tools/list` shows it. */
export function agentTool(agent: Pick<StoredAgent, 'id' | 'name' | 'description'>): Json {
  const { name, description } = agent
  const about = description?.trim() ? description.trim() : 'Runs the prompt and returns the answer.'
  return {
    name: agentToolName(agent),
    title: name,
    description: `Agent ${name}: ${about}`,
    inputSchema,
    outputSchema: resultSchema,
    annotations: {
      title: name,
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
  }
}
