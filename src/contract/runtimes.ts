import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { Name, Nullable } from './schemas.ts'

const ApiSpec = named(
  'ApiSpec',
  Type.Union(
    [
      Type.Literal('claude_managed_agents'),
      Type.Literal('opencode'),
      Type.Literal('acp'),
      Type.Literal('cursor'),
      Type.Literal('a2a'),
    ],
    { description: 'Protocol of the harness; only the configuration file can register programs of `acp`' },
  ),
)

export type ApiSpec = Static<typeof ApiSpec>

/** Protocols of harnesses. Gaps: section 10. */
export const apiSpecs: readonly ApiSpec[] = ApiSpec.anyOf.map(({ const: spec }) => spec)

/** Pattern of aliases. Gaps: section 10. */
export const aliasPattern = '^[A-Za-z0-9_-]{1,64}$'

/** A tool of a runtime's agents. */
const RuntimeTool = named(
  'RuntimeTool',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    enabled_by_default: Type.Boolean(),
  }),
)
export type RuntimeTool = Static<typeof RuntimeTool>

/** Common fields of runtimes. */
const state = {
  id: Type.String({ description: 'Name of the runtime in sessions and agents' }),
  connected: Type.Boolean({ description: 'Whether sessions can run on it' }),
  api_base: Type.String({ description: 'Address of the runtime; empty when it has none' }),
  masked_api_key: Nullable(Type.String({ description: 'At most the last four characters; null without a key' })),
  tools: Type.Array(RuntimeTool, { description: 'Tools that an agent can enable and disable by id' }),
  capabilities: Type.Record(Type.String(), Type.Boolean(), {
    description: 'Capabilities; an error names the missing capability of a request',
  }),
  last_checked_at: Nullable(Type.String({ format: 'date-time', description: 'Last test of the current settings' })),
  last_error: Nullable(Type.String({ description: 'Reason why it cannot be used; null when no problem is known' })),
}

/** A built-in runtime with the state of its credential. */
export const AgentRuntime = named(
  'AgentRuntime',
  Type.Object({
    name: Type.String(),
    default_api_base: Type.String(),
    credential_provider_id: Type.String(),
    credential_provider_name: Type.String(),
    ...state,
  }),
)
export type AgentRuntime = Static<typeof AgentRuntime>

/** A runtime as a harness: built in or registered. */
export const RuntimeHarness = named(
  'RuntimeHarness',
  Type.Object({
    alias: Type.String(),
    api_spec: Type.String(),
    display_name: Type.String(),
    is_default: Type.Boolean({ description: 'True for built-in runtimes' }),
    locked: Type.Boolean({
      description: 'Built in or set in the configuration file, so the API cannot change or remove it',
    }),
    ...state,
  }),
)
export type RuntimeHarness = Static<typeof RuntimeHarness>

const Address = Type.String({ minLength: 1, maxLength: 2_000, pattern: '\\S' })
const Key = Type.String({ minLength: 1, maxLength: 10_000, pattern: '\\S' })

/** Credential of a built-in runtime. An absent address stays unchanged. */
export const CredentialWrite = named(
  'CredentialWrite',
  Type.Object({
    api_key: Key,
    api_base: Type.Optional({
      ...Address,
      description:
        'Address of the runtime; the key is sent to no other host. By default the stored address, otherwise that of the vendor',
    }),
  }),
)
export type CredentialWrite = Static<typeof CredentialWrite>

export const HarnessCreate = named(
  'HarnessCreate',
  Type.Object({
    alias: Type.String({ pattern: aliasPattern, description: 'Letters, digits, `_` and `-`; 1 to 64 characters' }),
    api_spec: ApiSpec,
    api_base: { ...Address, description: 'Address of the runtime; the key is sent to no other host' },
    api_key: Type.Optional(Key),
    display_name: Type.Optional(Name),
  }),
)
export type HarnessCreate = Static<typeof HarnessCreate>

/** Absent fields stay unchanged, except the key: a new address without a key removes it. */
export const HarnessUpdate = named(
  'HarnessUpdate',
  Type.Object({
    api_spec: Type.Optional(ApiSpec),
    api_base: Type.Optional(Address),
    api_key: Type.Optional(Nullable(Key, 'null removes the key')),
    display_name: Type.Optional(Name),
  }),
)
export type HarnessUpdate = Static<typeof HarnessUpdate>

const RuntimeTest = named(
  'RuntimeTest',
  Type.Object({
    ok: Type.Boolean(),
    latency_ms: Type.Integer(),
    error: Type.Optional(Type.String({ description: 'Message of the runtime, without any part of the credential' })),
  }),
)
export type RuntimeTest = Static<typeof RuntimeTest>

const RuntimeModels = named(
  'RuntimeModels',
  Type.Object({
    models: Type.Array(Type.Object({ id: Type.String(), display_name: Type.String() }), {
      description: 'Empty when the runtime does not report it',
    }),
  }),
)

const AliasPath = Type.Object({ alias: Type.String() })
const RuntimePath = Type.Object({ runtime_id: Type.String() })
const Done = Type.Object({ ok: Type.Literal(true) })
const Harnesses = Type.Object({ harnesses: Type.Array(RuntimeHarness) })
const Runtimes = Type.Object({ runtimes: Type.Array(AgentRuntime) })
const read = { access: 'key', errorShape: 'nested' } as const
const write = { access: 'admin', errorShape: 'nested', bodyLimit: 64 * 1024 } as const

export const harnessRoutes = {
  list: route({
    ...read,
    id: 'runtime_harnesses.list',
    method: 'GET',
    path: '/api/runtime-harnesses',
    responses: { 200: Harnesses },
    summary: 'List harnesses',
    description: 'Lists all runtimes as harnesses: built-in ones first, then registered ones by their alias.',
  }),
  create: route({
    ...write,
    id: 'runtime_harnesses.create',
    method: 'POST',
    path: '/api/runtime-harnesses',
    body: HarnessCreate,
    responses: { 200: Harnesses },
    summary: 'Register a harness',
    description: 'Registers a runtime under an alias. Agents and sessions can name it at once.',
  }),
  update: route({
    ...write,
    id: 'runtime_harnesses.update',
    method: 'PUT',
    path: '/api/runtime-harnesses/{alias}',
    params: AliasPath,
    body: HarnessUpdate,
    responses: { 200: Harnesses },
    summary: 'Update a harness',
    description: 'Changes a harness. Running prompts keep their settings.',
  }),
  remove: route({
    ...write,
    id: 'runtime_harnesses.remove',
    method: 'DELETE',
    path: '/api/runtime-harnesses/{alias}',
    params: AliasPath,
    responses: { 200: Done },
    summary: 'Remove a harness',
    description: 'Removes a harness. Sessions on it fail at their next prompt.',
  }),
  test: route({
    ...write,
    id: 'runtime_harnesses.test',
    method: 'POST',
    path: '/api/runtime-harnesses/{alias}/test',
    params: AliasPath,
    responses: { 200: RuntimeTest },
    summary: 'Test a harness',
    description: 'Checks that a harness answers and accepts its key, without starting a run.',
  }),
}

export const agentRuntimeRoutes = {
  list: route({
    ...read,
    id: 'agent_runtimes.list',
    method: 'GET',
    path: '/api/agent-runtimes',
    responses: { 200: Runtimes },
    summary: 'List built-in runtimes',
    description: 'Lists the built-in runtimes and whether they are connected.',
  }),
  connect: route({
    ...write,
    id: 'agent_runtimes.connect',
    unknownFields: 'reported',
    method: 'PUT',
    path: '/api/agent-runtimes/{runtime_id}/credentials',
    params: RuntimePath,
    body: CredentialWrite,
    responses: { 200: Runtimes },
    summary: 'Connect a built-in runtime',
    description: 'Stores the credential of a built-in runtime encrypted. The next run uses it.',
  }),
  disconnect: route({
    ...write,
    id: 'agent_runtimes.disconnect',
    method: 'DELETE',
    path: '/api/agent-runtimes/{runtime_id}/credentials',
    params: RuntimePath,
    responses: { 200: Done },
    summary: 'Disconnect a built-in runtime',
    description: 'Removes the stored credential of a built-in runtime.',
  }),
  test: route({
    ...write,
    id: 'agent_runtimes.test',
    method: 'POST',
    path: '/api/agent-runtimes/{runtime_id}/test',
    params: RuntimePath,
    responses: { 200: RuntimeTest },
    summary: 'Test a runtime',
    description:
      'Checks that a runtime answers and accepts its credential, without starting a run. Takes an id or an alias.',
  }),
  models: route({
    ...read,
    id: 'agent_runtimes.models',
    method: 'GET',
    path: '/api/agent-runtimes/{runtime_id}/models',
    params: RuntimePath,
    responses: { 200: RuntimeModels },
    summary: 'List the models of a runtime',
    description: 'Lists the models that a runtime offers. Takes an id or an alias.',
  }),
}
