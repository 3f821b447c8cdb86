import type { AgentContext, ContextPart, ContextPartKind } from '../../contract/contexts.ts'
import { estimateTextTokens } from '../gateway/tokens/estimate.ts'
import type { SessionMemories } from '../memories/session-memories.ts'
import type { ContextRequest, RunSession, RuntimeContext, RuntimeRegistry } from '../runtimes/runtime.ts'

/** A piece of a system prompt; `skill` is the id of the skill whose block it is. */
interface Piece {
  readonly text: string
  readonly skill: string | undefined
  readonly name: string | undefined
}

export interface PromptContextDeps {
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly memories: Pick<SessionMemories, 'explain'>
  /** Splits a prompt into the blocks of its skills and what is between them. */
  readonly piecesOf: (prompt: { readonly system: string; readonly skills: Skills }) => readonly Piece[]
}

type Skills = readonly { readonly id: string; readonly name: string; readonly block: string }[]

interface Described extends Omit<ContextRequest, 'memories'> {
  readonly session: RunSession
  readonly runtime: string
  /** Id of the session; undefined for a new one. */
  readonly sessionId: string | undefined
  readonly agentVersion: number | null
  /** Blocks of skills in the prompt of the agent. */
  readonly skills: Skills
}

interface PromptContext extends AgentContext {
  readonly conversation: RuntimeContext['conversation']
}

/** Returns a function that describes the next model request of a session, or that of a new one. */
export function createPromptContext({ runtimes, memories, piecesOf }: PromptContextDeps) {
  return async (described: Described): Promise<PromptContext> => {
    const { session, runtime, sessionId, prompt, skills } = described
    const explained = await memories.explain(session.agent_id, sessionId)
    const found = await runtimes.find(runtime)
    const request = { ...described, memories: explained.block }
    const known = found?.contextOf
      ? await found.contextOf(session, request)
      : unknownContext(runtime, [
          { kind: 'system', text: prompt.system ?? session.system },
          { kind: 'memories', text: explained.block },
        ])
    const parts = known.parts.flatMap(({ kind, text }) =>
      kind === 'system'
        ? systemParts(session, piecesOf({ system: text, skills }))
        : part(kind, text, sourceOf(described, kind)),
    )
    const shown = known.tools.filter(({ is_shown }) => is_shown)
    const isComplete = found?.contextOf !== undefined && !hasRepository(session)
    return {
      agent_id: session.agent_id,
      agent_version: described.agentVersion,
      runtime,
      model: prompt.model,
      context_window: known.contextWindow ?? null,
      parts,
      memories: [...explained.memories],
      tools: [...known.tools],
      is_complete: isComplete,
      notes: hasRepository(session) ? [...known.notes, repositoryNote] : [...known.notes],
      conversation: known.conversation,
      estimated_tokens: totalOf(parts) + totalOf(shown) + (known.conversation?.estimated_tokens ?? 0),
    }
  }
}

const hasRepository = ({ environment }: RunSession): boolean => typeof environment['repository'] === 'string'

const repositoryNote = 'each run adds instructions about the repository to the system prompt; they are not listed'

const totalOf = (items: readonly { readonly estimated_tokens: number }[]): number =>
  items.reduce((sum, { estimated_tokens }) => sum + estimated_tokens, 0)

/** Returns a text of the prompt with its size. */
export const part = (kind: ContextPartKind, text: string, source_id: string | null): ContextPart => ({
  kind,
  source_id,
  name: null,
  text,
  estimated_tokens: estimateTextTokens(text),
})

const systemParts = ({ agent_id }: RunSession, pieces: readonly Piece[]): ContextPart[] =>
  pieces.map(({ text, skill, name }) => ({
    ...part(skill === undefined ? 'system' : 'skill', text, (skill ?? agent_id) || null),
    name: name ?? null,
  }))

/** Notes about the environment belong to the session, everything else to the agent. */
const sourceOf = ({ session, sessionId }: Described, kind: ContextPartKind): string | null =>
  (kind === 'environment' ? sessionId : session.agent_id) || null

const unknownContext = (runtime: string, parts: RuntimeContext['parts']): RuntimeContext => ({
  parts: parts.filter(({ text }) => text.trim() !== ''),
  tools: [],
  contextWindow: undefined,
  conversation: null,
  notes: [`runtime ${runtime} builds its requests itself: what it adds to these parts, and its tools, are unknown`],
})
