import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { JsonObject, Nullable } from './schemas.ts'

/** Origin of a provider or a model: the configuration file, an environment variable, or the API. */
export const Source = named(
  'ProviderSource',
  Type.Union([Type.Literal('file'), Type.Literal('environment'), Type.Literal('api')]),
)
export type Source = Static<typeof Source>

/** A model provider with the state of its credential. The credential itself is never returned. */
export const Provider = named(
  'Provider',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    protocols: Type.Array(Type.String(), {
      description:
        'Protocols of its servers unless a model sets others; the first one serves calls in all other formats',
    }),
    default_api_base: Nullable(
      Type.String({ description: 'null: the address must be given, or follows from a region' }),
    ),
    api_base: Nullable(Type.String({ description: 'Address at which its models are called' })),
    connected: Type.Boolean({
      description: 'Its models can be called as `<id>/<model>`, or the configuration file lists some',
    }),
    masked_api_key: Nullable(Type.String({ description: 'At most the last four characters; null without a key' })),
    source: Nullable(Source),
    locked: Type.Boolean({ description: 'Set outside of this API, so it can only be changed there' }),
    error: Nullable(Type.String({ description: 'Reason why the stored credential is not used' })),
    updated_at: Nullable(Type.String({ format: 'date-time', description: 'Time at which the credential was stored' })),
  }),
)
export type Provider = Static<typeof Provider>

const Text = Type.String({ minLength: 1, maxLength: 2_000, pattern: '\\S' })
const LongText = Type.String({ minLength: 1, maxLength: 10_000, pattern: '\\S' })

/** Key of a Google service account. */
export const ServiceAccount = named(
  'ServiceAccount',
  Type.Union([LongText, JsonObject], {
    description: 'The JSON of a service account, as text or as an object',
  }),
)

/** A provider's credential. It replaces the previous one as a whole. */
export const ProviderWrite = named(
  'ProviderWrite',
  Type.Object({
    api_key: Type.Optional(LongText),
    api_base: Type.Optional({
      ...Text,
      description: 'Address of the provider; the credential is sent to no other host',
    }),
    aws_region_name: Type.Optional(Text),
    aws_access_key_id: Type.Optional(LongText),
    aws_secret_access_key: Type.Optional(LongText),
    aws_session_token: Type.Optional(LongText),
    vertex_project: Type.Optional(Text),
    vertex_location: Type.Optional(Text),
    vertex_credentials: Type.Optional(ServiceAccount),
  }),
)
export type ProviderWrite = Static<typeof ProviderWrite>

const ProviderTest = named(
  'ProviderTest',
  Type.Object({
    ok: Type.Boolean(),
    latency_ms: Type.Integer(),
    error: Type.Optional(Type.String({ description: 'Message of the provider, without any part of the credential' })),
  }),
)
export type ProviderTest = Static<typeof ProviderTest>

const ProviderPath = Type.Object({ provider_id: Type.String() })
const base = { access: 'admin', errorShape: 'nested' } as const

export const providerRoutes = {
  list: route({
    ...base,
    id: 'providers.list',
    method: 'GET',
    path: '/api/providers',
    responses: { 200: Type.Object({ providers: Type.Array(Provider) }) },
    summary: 'List providers',
    description: 'Lists the model providers and whether they are connected.',
  }),
  set: route({
    ...base,
    id: 'providers.set',
    method: 'PUT',
    path: '/api/providers/{provider_id}',
    params: ProviderPath,
    body: ProviderWrite,
    bodyLimit: 64 * 1024,
    responses: { 200: Provider },
    summary: 'Connect a provider',
    description: 'Stores the credential of a provider encrypted. Its models can be called at once.',
  }),
  remove: route({
    ...base,
    id: 'providers.remove',
    method: 'DELETE',
    path: '/api/providers/{provider_id}',
    params: ProviderPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Disconnect a provider',
    description: 'Removes the stored credential of a provider.',
  }),
  test: route({
    ...base,
    id: 'providers.test',
    method: 'POST',
    path: '/api/providers/{provider_id}/test',
    params: ProviderPath,
    body: ProviderWrite,
    bodyOptional: true,
    bodyLimit: 64 * 1024,
    responses: { 200: ProviderTest },
    summary: 'Test a provider',
    description:
      'Checks that a provider accepts the credential, by a request that is free or nearly free. With a body it checks that credential instead, and stores nothing.',
  }),
}
