import { Type } from 'typebox'
import { A2aRpcError } from './a2a-errors.ts'
import {
  A2aAgentCard,
  A2aGetTask,
  A2aListTasks,
  A2aSendRequest,
  A2aSendResponse,
  A2aTask,
  A2aTaskList,
} from './a2a-objects.ts'
import { A2aPushConfig, A2aPushConfigList, pushPage } from './a2a-push.ts'
import { named } from './named.ts'
import { promptBodyLimit } from './prompt-files.ts'
import { route } from './route.ts'
import { eventStream, JsonObject } from './schemas.ts'

/** The version of the protocol that the service speaks. */
export const a2aVersion = '1.0'

const AgentPath = Type.Object({ agent: Type.String({ description: 'Id of the agent' }) })
const TaskPath = Type.Object({ ...AgentPath.properties, task_id: Type.String({ description: 'Id of the prompt' }) })
const ConfigPath = Type.Object({ ...TaskPath.properties, config_id: Type.String({ description: 'Id of the config' }) })
const version = {
  'A2A-Version': Type.Optional(Type.String({ maxLength: 20, description: '`1.0`, unless the header names it' })),
}
const Version = Type.Object(version)
const json = 'application/a2a+json'
const base = { access: 'key', errorShape: 'a2a', produces: json } as const
/** Operations with a body. */
const written = { ...base, consumes: json, unknownFields: 'passed', query: Version } as const
const Frames = Type.String({
  description: 'Server-sent events, each a `StreamResponse`: `task` first, then `statusUpdate` and `artifactUpdate`',
})

const RpcId = Type.Union([Type.String({ maxLength: 200 }), Type.Number(), Type.Null()])

export const A2aRpcRequest = named(
  'A2aRpcRequest',
  Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Optional(RpcId),
      method: Type.String({ minLength: 1, maxLength: 100 }),
      params: Type.Optional(JsonObject),
    },
    { additionalProperties: true },
  ),
)

const A2aRpcResponse = named(
  'A2aRpcResponse',
  Type.Union([Type.Object({ jsonrpc: Type.Literal('2.0'), id: RpcId, result: Type.Unknown() }), A2aRpcError]),
)

const pushPath = '/a2a/{agent}/tasks/{task_id}/pushNotificationConfigs'

export const a2aRoutes = {
  card: route({
    id: 'a2a.card',
    method: 'GET',
    path: '/a2a/{agent}/.well-known/agent-card.json',
    access: 'key-unless-public',
    errorShape: 'a2a',
    params: AgentPath,
    responses: { 200: A2aAgentCard },
    summary: 'Read an agent card',
    description:
      'Describes the agent, its skills and how to reach it. Answers 404 unless the agent has `config.a2a.enabled`; `config.a2a.public_card` makes the card readable without a key.',
  }),
  rpc: route({
    id: 'a2a.rpc',
    alternatives: eventStream,
    method: 'POST',
    path: '/a2a/{agent}',
    bodyLimit: promptBodyLimit,
    access: 'key',
    errorShape: 'a2a-rpc',
    unknownFields: 'passed',
    params: AgentPath,
    query: Version,
    body: A2aRpcRequest,
    responses: { 200: A2aRpcResponse },
    summary: 'Call an agent by JSON-RPC',
    description:
      'The JSON-RPC binding of A2A 1.0: `SendMessage`, `SendStreamingMessage`, `GetTask`, `ListTasks`, `CancelTask`, `SubscribeToTask` and the methods of push notification configs. Errors of a method are in the body, with status 200. The streaming methods answer with server-sent events.',
  }),
  send: route({
    ...written,
    id: 'a2a.send',
    method: 'POST',
    path: '/a2a/{agent}/message:send',
    bodyLimit: promptBodyLimit,
    params: AgentPath,
    body: A2aSendRequest,
    responses: { 200: A2aSendResponse },
    summary: 'Send a message to an agent',
    description:
      'Starts a task: a prompt in a new session, or in that of `contextId`. With `taskId` the message answers the question of a task. Waits until the task ends or asks, unless `returnImmediately` is true.',
  }),
  stream: route({
    ...written,
    id: 'a2a.stream',
    method: 'POST',
    path: '/a2a/{agent}/message:stream',
    bodyLimit: promptBodyLimit,
    params: AgentPath,
    body: A2aSendRequest,
    responses: { 200: Frames },
    produces: 'text/event-stream',
    summary: 'Send a message and follow its task',
    description: 'Like `message:send`, and streams the task until it ends or asks.',
  }),
  list: route({
    ...base,
    id: 'a2a.list',
    method: 'GET',
    path: '/a2a/{agent}/tasks',
    params: AgentPath,
    query: Type.Object({ ...version, ...A2aListTasks }),
    responses: { 200: A2aTaskList },
    summary: 'List tasks',
    description:
      'Lists the prompts of the agent’s sessions that the key may see, the most recently changed first: state and time of each. `includeArtifacts` and `historyLength` add results, messages and `status.message`.',
  }),
  get: route({
    ...base,
    id: 'a2a.get',
    method: 'GET',
    path: '/a2a/{agent}/tasks/{task_id}',
    params: TaskPath,
    query: Type.Object({ ...version, ...A2aGetTask }),
    responses: { 200: A2aTask },
    summary: 'Read a task',
    description: 'Returns a task with its artifacts and its messages, built from the log of its session.',
  }),
  cancel: route({
    ...written,
    id: 'a2a.cancel',
    method: 'POST',
    path: '/a2a/{agent}/tasks/{task_id}:cancel',
    params: TaskPath,
    body: Type.Object({ metadata: Type.Optional(JsonObject) }, { additionalProperties: true }),
    bodyOptional: true,
    responses: { 200: A2aTask },
    summary: 'Cancel a task',
    description:
      'Stops a task that runs, waits or asks, and returns it. Other tasks of the session continue. Answers 400 when the task has ended.',
  }),
  subscribe: route({
    ...base,
    id: 'a2a.subscribe',
    method: 'POST',
    path: '/a2a/{agent}/tasks/{task_id}:subscribe',
    params: TaskPath,
    query: Version,
    responses: { 200: Frames },
    produces: 'text/event-stream',
    summary: 'Follow a task',
    description:
      'Streams a task from its current state until it ends. A client that was disconnected continues with it. Answers 400 when the task has ended.',
  }),
  subscribeByGet: route({
    ...base,
    id: 'a2a.subscribe_by_get',
    method: 'GET',
    path: '/a2a/{agent}/tasks/{task_id}:subscribe',
    params: TaskPath,
    query: Version,
    responses: { 200: Frames },
    produces: 'text/event-stream',
    summary: 'Follow a task by GET',
    description: 'Like `POST …:subscribe`, with the method that A2A’s interface definition names.',
  }),
  createPush: route({
    ...written,
    id: 'a2a.create_push',
    method: 'POST',
    path: pushPath,
    params: TaskPath,
    body: A2aPushConfig,
    responses: { 200: A2aPushConfig },
    summary: 'Create a push notification config',
    description:
      'Sends the task as it is now, and then each of its changes, to an address until the task ends. Every notification is a `StreamResponse`, sent in order and at least once. A task has at most 10 configs.',
  }),
  listPush: route({
    ...base,
    id: 'a2a.list_push',
    method: 'GET',
    path: pushPath,
    params: TaskPath,
    query: Type.Object({
      ...version,
      ...pushPage,
    }),
    responses: { 200: A2aPushConfigList },
    summary: 'List push notification configs',
    description: 'Lists the configs of a task on one page, the oldest first, without tokens and credentials.',
  }),
  getPush: route({
    ...base,
    id: 'a2a.get_push',
    method: 'GET',
    path: `${pushPath}/{config_id}`,
    params: ConfigPath,
    query: Version,
    responses: { 200: A2aPushConfig },
    summary: 'Read a push notification config',
    description: 'Returns a config without its token and credentials. Answers 404 when the task has none with that id.',
  }),
  removePush: route({
    ...base,
    id: 'a2a.remove_push',
    method: 'DELETE',
    path: `${pushPath}/{config_id}`,
    params: ConfigPath,
    query: Version,
    responses: { 204: null },
    summary: 'Delete a push notification config',
    description: 'Ends the notifications of a config. Deleting it again has no effect.',
  }),
  extendedCard: route({
    ...base,
    id: 'a2a.extended_card',
    method: 'GET',
    path: '/a2a/{agent}/extendedAgentCard',
    params: AgentPath,
    query: Version,
    responses: { 200: A2aAgentCard },
    summary: 'Read the extended agent card',
    description:
      'Answers 400 with the reason `UNSUPPORTED_OPERATION`: the agent card is complete, with and without a key.',
  }),
}
