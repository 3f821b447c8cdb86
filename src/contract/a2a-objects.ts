import { type Static, Type } from 'typebox'
import { open, tenant } from './a2a-fields.ts'
import { A2aPushConfig } from './a2a-push.ts'
import { named } from './named.ts'
import { DateTime, JsonObject, Nullable } from './schemas.ts'

const Id = Type.String({ minLength: 1, maxLength: 200 })
const Metadata = Type.Optional(JsonObject)
const HistoryLength = Type.Optional(
  Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'Most recent messages to return; all when absent' }),
)

/** Content of a message or of an artifact; one of `text`, `raw`, `url` and `data` determines its kind. */
const A2aPart = named(
  'A2aPart',
  Type.Object(
    {
      text: Type.Optional(Type.String({ maxLength: 1_000_000 })),
      raw: Type.Optional(Type.String({ description: 'Content of a file in base64' })),
      url: Type.Optional(
        Type.String({
          description: 'Address of a file that the agent wrote; in messages only a `data:` URL in base64',
        }),
      ),
      data: Type.Optional(Type.Unknown({ description: 'JSON; with `taskId` the answer to a question' })),
      metadata: Metadata,
      filename: Type.Optional(Type.String()),
      mediaType: Type.Optional(Type.String({ maxLength: 200 })),
    },
    open,
  ),
)
export type A2aPart = Static<typeof A2aPart>

export const A2aMessage = named(
  'A2aMessage',
  Type.Object(
    {
      messageId: { ...Id, description: 'Chosen by the sender; a repeated message gets the same task' },
      contextId: Type.Optional(Type.String({ maxLength: 200, description: 'Session in which the task runs' })),
      taskId: Type.Optional(Type.String({ maxLength: 200, description: 'Task whose question the message answers' })),
      role: Type.Union([Type.Literal('ROLE_USER'), Type.Literal('ROLE_AGENT')]),
      parts: Type.Array(A2aPart, { minItems: 1, maxItems: 100 }),
      metadata: Metadata,
      extensions: Type.Optional(Type.Array(Type.String())),
      referenceTaskIds: Type.Optional(Type.Array(Type.String())),
    },
    open,
  ),
)
export type A2aMessage = Static<typeof A2aMessage>

export const A2aTaskState = named(
  'A2aTaskState',
  Type.Union([
    Type.Literal('TASK_STATE_SUBMITTED'),
    Type.Literal('TASK_STATE_WORKING'),
    Type.Literal('TASK_STATE_INPUT_REQUIRED'),
    Type.Literal('TASK_STATE_AUTH_REQUIRED'),
    Type.Literal('TASK_STATE_COMPLETED'),
    Type.Literal('TASK_STATE_FAILED'),
    Type.Literal('TASK_STATE_CANCELED'),
    Type.Literal('TASK_STATE_REJECTED'),
  ]),
)
export type A2aTaskState = Static<typeof A2aTaskState>

const A2aTaskStatus = named(
  'A2aTaskStatus',
  Type.Object({ state: A2aTaskState, message: Type.Optional(A2aMessage), timestamp: DateTime }, open),
)
export type A2aTaskStatus = Static<typeof A2aTaskStatus>

/** A result of a task. */
const A2aArtifact = named(
  'A2aArtifact',
  Type.Object(
    {
      artifactId: Type.String({
        description: 'Id of the event that has the result, or `file:` and the path of a file',
      }),
      name: Type.Optional(Type.String()),
      description: Type.Optional(Type.String()),
      parts: Type.Array(A2aPart),
      metadata: Metadata,
    },
    open,
  ),
)
export type A2aArtifact = Static<typeof A2aArtifact>

/** A prompt of a session. */
export const A2aTask = named(
  'A2aTask',
  Type.Object(
    {
      id: Type.String({ description: 'Id of the prompt' }),
      contextId: Type.String({ description: 'Id of the session' }),
      status: A2aTaskStatus,
      artifacts: Type.Optional(Type.Array(A2aArtifact)),
      history: Type.Optional(Type.Array(A2aMessage)),
      metadata: Metadata,
    },
    open,
  ),
)
export type A2aTask = Static<typeof A2aTask>

const update = { taskId: Type.String(), contextId: Type.String() }
const A2aStatusUpdate = Type.Object({ ...update, status: A2aTaskStatus }, open)
const A2aArtifactUpdate = Type.Object(
  { ...update, artifact: A2aArtifact, append: Type.Optional(Type.Boolean()), lastChunk: Type.Optional(Type.Boolean()) },
  open,
)

/** One frame of a stream: the task first, then its changes. */
export type A2aStreamResponse =
  | { readonly task: A2aTask }
  | { readonly statusUpdate: Static<typeof A2aStatusUpdate> }
  | { readonly artifactUpdate: Static<typeof A2aArtifactUpdate> }

export const A2aSendRequest = named(
  'A2aSendRequest',
  Type.Object(
    {
      tenant,
      message: A2aMessage,
      configuration: Type.Optional(
        Type.Object(
          {
            acceptedOutputModes: Type.Optional(Type.Array(Type.String({ maxLength: 200 }), { maxItems: 100 })),
            taskPushNotificationConfig: Type.Optional(Nullable(A2aPushConfig)),
            historyLength: HistoryLength,
            returnImmediately: Type.Optional(
              Type.Boolean({ description: 'Answers as soon as the message is queued; false by default' }),
            ),
          },
          open,
        ),
      ),
      metadata: Metadata,
    },
    open,
  ),
)
export type A2aSendRequest = Static<typeof A2aSendRequest>

/** The answer to a message: always its task. */
export const A2aSendResponse = named('A2aSendResponse', Type.Object({ task: A2aTask }))

/** Which part of a task to read. */
export const A2aGetTask = { historyLength: HistoryLength }

/** Parameters of the methods that name one task. */
export const A2aTaskParams = Type.Object({ tenant, id: Id, ...A2aGetTask }, open)

/** Filters of the task list. */
export const A2aListTasks = {
  contextId: Type.Optional(Type.String({ maxLength: 200, description: 'Only tasks of this session' })),
  status: Type.Optional(
    Type.Union([A2aTaskState, Type.Literal('TASK_STATE_UNSPECIFIED')], { description: 'Unspecified: any state' }),
  ),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Tasks of a page' })),
  pageToken: Type.Optional(Type.String({ maxLength: 200, description: '`nextPageToken` of the previous page' })),
  historyLength: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'Messages of each task; none when absent' }),
  ),
  statusTimestampAfter: Type.Optional({ ...DateTime, description: 'Only tasks whose status is of this time or later' }),
  includeArtifacts: Type.Optional(Type.Boolean({ description: 'Adds the artifacts of each task; false by default' })),
}
export const A2aListParams = Type.Object({ tenant, ...A2aListTasks }, open)
export type A2aListQuery = Static<typeof A2aListParams>

export const A2aTaskList = named(
  'A2aTaskList',
  Type.Object({
    tasks: Type.Array(A2aTask),
    nextPageToken: Type.String({ description: 'Empty on the last page' }),
    pageSize: Type.Integer(),
    totalSize: Type.Integer(),
  }),
)
export type A2aTaskList = Static<typeof A2aTaskList>

const Interface = Type.Object({ url: Type.String(), protocolBinding: Type.String(), protocolVersion: Type.String() })
const Skill = Type.Object(
  { id: Type.String(), name: Type.String(), description: Type.String(), tags: Type.Array(Type.String()) },
  open,
)

/** What an agent is and how clients reach it. */
export const A2aAgentCard = named(
  'A2aAgentCard',
  Type.Object(
    {
      name: Type.String(),
      description: Type.String(),
      version: Type.String({ description: 'Version of the agent' }),
      supportedInterfaces: Type.Array(Interface),
      capabilities: Type.Object({
        streaming: Type.Boolean(),
        pushNotifications: Type.Boolean(),
        extendedAgentCard: Type.Boolean(),
      }),
      securitySchemes: Type.Record(Type.String(), JsonObject),
      securityRequirements: Type.Array(JsonObject),
      defaultInputModes: Type.Array(Type.String()),
      defaultOutputModes: Type.Array(Type.String()),
      skills: Type.Array(Skill),
    },
    open,
  ),
)
export type A2aAgentCard = Static<typeof A2aAgentCard>
