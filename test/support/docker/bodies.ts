import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'

const closed = { additionalProperties: false }
const Text = Type.String()
const Texts = Type.Array(Text)
const Labels = Type.Record(Text, Text)
const Size = Type.Integer({ minimum: 0 })

/** Fields of the Engine API 1.41 to 1.47 that the service sends, with their types. Others are rejected. */
const HostConfig = Type.Object(
  {
    NetworkMode: Type.String({ pattern: '^(none|container:[0-9a-f]{12,64})$' }),
    ReadonlyRootfs: Type.Boolean(),
    Mounts: Type.Array(
      Type.Object({ Type: Type.Literal('bind'), Source: Text, Target: Text, ReadOnly: Type.Boolean() }, closed),
    ),
    Tmpfs: Type.Optional(Type.Record(Text, Text)),
    ShmSize: Size,
    CapDrop: Texts,
    CapAdd: Texts,
    SecurityOpt: Texts,
    Privileged: Type.Literal(false),
    Memory: Size,
    MemorySwap: Type.Integer({ minimum: -1 }),
    PidsLimit: Size,
    NanoCpus: Size,
    CpuShares: Size,
    OomScoreAdj: Type.Integer({ minimum: -1000, maximum: 1000 }),
    Ulimits: Type.Array(Type.Object({ Name: Text, Soft: Type.Integer(), Hard: Type.Integer() }, closed)),
    IpcMode: Text,
    CgroupnsMode: Type.Union([Type.Literal('private'), Type.Literal('host')]),
    RestartPolicy: Type.Object({ Name: Text }, closed),
    AutoRemove: Type.Boolean(),
    Init: Type.Boolean(),
    LogConfig: Type.Object({ Type: Text }, closed),
    Runtime: Type.Optional(Text),
  },
  closed,
)

const Container = Type.Object(
  {
    Image: Text,
    User: Text,
    WorkingDir: Type.Optional(Text),
    Env: Type.Array(Type.String({ pattern: '^[^=]+=' })),
    Entrypoint: Texts,
    Cmd: Texts,
    Healthcheck: Type.Object({ Test: Texts }, closed),
    Tty: Type.Literal(false),
    OpenStdin: Type.Boolean(),
    StdinOnce: Type.Boolean(),
    AttachStdin: Type.Boolean(),
    AttachStdout: Type.Boolean(),
    AttachStderr: Type.Boolean(),
    Labels,
    Hostname: Type.Optional(Text),
    HostConfig,
  },
  closed,
)

export interface ContainerBody {
  readonly Image: string
  readonly User: string
  readonly WorkingDir?: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Labels: Readonly<Record<string, string>>
  readonly Hostname?: string
  readonly HostConfig: {
    readonly NetworkMode: string
    readonly ReadonlyRootfs: boolean
    readonly Mounts: readonly { readonly Source: string; readonly Target: string; readonly ReadOnly: boolean }[]
    readonly Tmpfs?: Readonly<Record<string, string>>
    readonly ShmSize: number
    readonly CapAdd: readonly string[]
    readonly Memory: number
    readonly PidsLimit: number
    readonly NanoCpus: number
    readonly Ulimits: readonly { readonly Name: string; readonly Soft: number }[]
    readonly Runtime?: string
  }
}

const Exec = Type.Object({ Cmd: Texts, AttachStdout: Type.Boolean(), AttachStderr: Type.Boolean() }, closed)
const ExecStart = Type.Object({ Detach: Type.Literal(true), Tty: Type.Literal(false) }, closed)
const Commit = Type.Object({ Labels }, closed)

const schemas: readonly (readonly [path: RegExp, schema: TSchema])[] = [
  [/^\/containers\/create$/, Container],
  [/^\/containers\/[^/]+\/exec$/, Exec],
  [/^\/exec\/[^/]+\/start$/, ExecStart],
  [/^\/commit$/, Commit],
]

/** Returns why an engine would not understand the body of a request, or would ignore a part of it. */
export function bodyProblem(path: string, body: unknown): string | undefined {
  const schema = schemas.find(([pattern]) => pattern.test(path))?.[1]
  if (!schema) return body === undefined ? undefined : `${path} takes no body`
  const [first] = Value.Errors(schema, body)
  return first && `${path}: ${JSON.stringify(first)}`
}
