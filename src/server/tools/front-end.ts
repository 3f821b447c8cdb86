import { Type } from 'typebox'
import { isRecord, type Json } from '../platform/json.ts'
import { applyPatch } from '../platform/json-patch.ts'
import { customEntries, customTools } from './custom-tools.ts'
import { type Answer, defineTool, done, type ServerContext, type Tool } from './tool.ts'
import type { RunTool, ToolSource } from './tool-source.ts'

/** What the front-end of a session gives to its runs. */
export interface FrontEnd {
  /** Its tools, as entries of type `custom` of an agent's `tools`. */
  readonly tools: readonly Json[]
  /** Its instructions and facts, for the system prompt; empty without any. */
  readonly text: string
  /** Undefined when the front-end shares no state. */
  readonly state: SharedState | undefined
}

/** State that front-end and agent share. */
export interface SharedState {
  /** As of the start of the run. */
  readonly value: unknown
  /** Replaces the state with what `change` returns, unless that throws. */
  readonly update: (change: (value: unknown) => unknown) => Promise<void>
}

interface FrontEndSession {
  readonly id: string
  readonly environment: Json
}

/** The front-ends of sessions. */
export interface FrontEnds {
  /**
   * Returns the front-end of a session; undefined when it has none, or another client has sent the prompt: its tools and facts are
   * for its own runs.
   */
  of(session: FrontEndSession, promptId: string | undefined): Promise<FrontEnd | undefined>
}

/** Name of the tool that changes the shared state. */
export const stateToolName = 'update_shared_state'

const path = Type.String({ maxLength: 1_000, description: 'JSON Pointer, such as /items/0/title' })

interface StateContext extends ServerContext {
  readonly state: SharedState
}

const stateTool: Tool<StateContext> = defineTool({
  name: stateToolName,
  description:
    'Changes the state that you share with the application of the user, which shows it at once. The operations are a JSON Patch (RFC 6902): all of them are applied, or none.',
  input: Type.Object({
    operations: Type.Array(
      Type.Union([
        Type.Object({ op: Type.Union([Type.Literal('add'), Type.Literal('replace')]), path, value: Type.Unknown() }),
        Type.Object({ op: Type.Literal('remove'), path }),
      ]),
      { minItems: 1, maxItems: 100 },
    ),
  }),
  idempotent: false,
  async run({ operations }, { state }): Promise<Answer> {
    await state.update(value => applyPatch(value, operations))
    return done('state updated')
  },
})

/** Returns the source of the tool for the shared state. */
export function stateSource(state: SharedState): ToolSource {
  const { name, description, inputSchema, reads, idempotent } = stateTool
  const tool: RunTool = {
    ...{ name, description, inputSchema, reads, idempotent, policy: 'allow' },
    call: (input, context) => stateTool.run(input, { ...context, state }),
  }
  return { name: 'shared state', list: async () => [tool] }
}

/** Returns the tools of the front-end that the agent does not declare itself. `agentTools` and `config` are the agent's. */
export function frontEndTools({ tools }: FrontEnd, agentTools: unknown, config: Json) {
  const own = customEntries(agentTools).map(({ name }) => name)
  return customTools(
    tools.filter(({ name }) => !own.includes(name)),
    config,
  )
}

/** Returns the text about a front-end for the system prompt; empty when there is nothing to say. */
export function frontEndText(frontEnd: FrontEnd | undefined): string {
  if (!frontEnd) return ''
  const { text, state } = frontEnd
  const shown =
    state && `State that you share with the application; ${stateToolName} changes it:\n${JSON.stringify(state.value)}`
  return [text, shown ?? ''].filter(part => part !== '').join('\n\n')
}

/** True for a state that a front-end shares: not for an empty object, which clients send by default. */
export const isShared = (state: unknown): boolean =>
  state !== undefined && state !== null && !(isRecord(state) && Object.keys(state).length === 0)
