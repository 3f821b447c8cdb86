import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { networkPresets } from './network-presets.ts'
import { Nullable } from './schemas.ts'
import { VaultKey } from './vault.ts'

const HostName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'Host name such as `api.example.com`, or `*.example.com` for all names below it',
})

const AllowedHost = Type.Union([
  HostName,
  Type.Object({
    host: HostName,
    ports: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        minItems: 1,
        maxItems: 100,
        description: '80 and 443 when absent',
      }),
    ),
    methods: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 20 }), {
        minItems: 1,
        maxItems: 20,
        description: 'HTTP methods such as `GET`; all when absent',
      }),
    ),
  }),
])

/** How the value of a vault entry becomes the value of a header; the words of MCP servers. */
export const networkSecretTypes = ['authorization', 'bearer_token', 'basic'] as const
export type NetworkSecretType = (typeof networkSecretTypes)[number]

const NetworkSecret = Type.Object({
  vault_key: VaultKey,
  host: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'The only host that receives the secret, without wildcard; it must be an allowed host',
  }),
  header: Type.String({ minLength: 1, maxLength: 100, description: 'Header of the requests, such as `authorization`' }),
  auth_type: Type.Optional(
    Type.Union(
      networkSecretTypes.map(name => Type.Literal(name)),
      {
        description:
          '`authorization` (default) sends the value unchanged, `bearer_token` sends `Bearer` and the value, `basic` sends `Basic` and the value in base64',
      },
    ),
  ),
})
export type NetworkSecret = Static<typeof NetworkSecret>

/** Network of an agent's sandboxes. */
export const NetworkConfig = named(
  'NetworkConfig',
  Type.Object({
    type: Type.Union([Type.Literal('none'), Type.Literal('limited'), Type.Literal('unrestricted')], {
      description:
        '`none` is the default; `unrestricted` is every public address and needs `limits.allow_unrestricted_egress` in the configuration of the service',
    }),
    allowed_hosts: Type.Optional(Nullable(Type.Array(AllowedHost, { maxItems: 500 }))),
    presets: Type.Optional(
      Nullable(
        Type.Array(Type.Union(networkPresets.map(name => Type.Literal(name))), {
          maxItems: 20,
          description: 'Hosts of package registries and of GitHub',
        }),
      ),
    ),
    allow_package_managers: Type.Optional(Nullable(Type.Boolean({ description: 'The same as the preset `packages`' }))),
    allow_mcp_servers: Type.Optional(Nullable(Type.Boolean({ description: 'The hosts of `config.mcp_servers`' }))),
    secrets: Type.Optional(
      Nullable(
        Type.Array(NetworkSecret, {
          maxItems: 50,
          description: 'Secrets that the proxy adds to HTTPS requests; the sandbox never has them',
        }),
      ),
    ),
  }),
)
export type NetworkConfig = Static<typeof NetworkConfig>
