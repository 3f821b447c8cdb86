import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { Nullable } from './schemas.ts'

/** Presets of `config.network`; `packages` stands for all package registries. */
export const networkPresets = [
  'packages',
  'npm',
  'pypi',
  'crates',
  'rubygems',
  'go',
  'debian',
  'ubuntu',
  'alpine',
  'maven',
  'github',
] as const
export type NetworkPreset = (typeof networkPresets)[number]

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

/** Network of an agent's sandboxes. Rulings: 37. */
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
  }),
)
export type NetworkConfig = Static<typeof NetworkConfig>
