import { type Static, Type } from 'typebox'
import { Metadata } from './metadata.ts'
import { named } from './named.ts'
import { PromptText } from './prompts.ts'
import { JsonObject, Nullable, VersionNumber } from './schemas.ts'

/** Fields of a new session. Interface: Resources, Session. */
export const SessionCreate = named(
  'SessionCreate',
  Type.Object({
    title: Type.Optional(Type.String({ maxLength: 200 })),
    agent: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Agent id or harness alias' })),
    agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    agent_version: Type.Optional(VersionNumber('Version of the agent; the pinned or the current one by default')),
    harness: Type.Optional(
      Type.String({ maxLength: 200, description: 'Alternative name of `runtime`, which takes precedence' }),
    ),
    runtime: Type.Optional(Type.String({ maxLength: 200, description: 'Built-in runtime id or harness alias' })),
    model: Type.Optional(
      Type.String({ maxLength: 200, description: 'Model of the initial prompt; the agent’s by default' }),
    ),
    prompt: Type.Optional(PromptText),
    environment: Type.Optional(JsonObject),
    metadata: Type.Optional(Metadata),
    timezone: Type.Optional(Type.String({ maxLength: 100, description: 'IANA time zone name' })),
    tz: Type.Optional(
      Type.String({ maxLength: 100, description: 'Alternative name of `timezone`, which takes precedence' }),
    ),
  }),
)
export type SessionCreate = Static<typeof SessionCreate>

/** Model of a new session in opencode's format. */
const OpencodeModel = named(
  'OpencodeModelChoice',
  Type.Object({
    id: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
    providerID: Type.Optional(Type.String({ maxLength: 200 })),
  }),
)

const { properties: created } = SessionCreate

/** Body of a new session, with the model in our format or in opencode's. Null means absent. */
export const SessionRequest = named(
  'SessionRequest',
  Type.Object({
    title: Type.Optional(Nullable(created.title)),
    agent: Type.Optional(Nullable(created.agent)),
    agent_id: Type.Optional(Nullable(created.agent_id)),
    agent_version: Type.Optional(Nullable(created.agent_version)),
    harness: Type.Optional(Nullable(created.harness)),
    runtime: Type.Optional(Nullable(created.runtime)),
    model: Type.Optional(Type.Union([created.model, OpencodeModel, Type.Null()])),
    prompt: Type.Optional(Nullable(created.prompt)),
    environment: Type.Optional(Nullable(created.environment)),
    metadata: Type.Optional(Nullable(created.metadata)),
    timezone: Type.Optional(Nullable(created.timezone)),
    tz: Type.Optional(Nullable(created.tz)),
  }),
)
