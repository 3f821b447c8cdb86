import type { McpAuthType } from '../../contract/mcp.ts'
import type { ApiSpec } from '../../contract/runtimes.ts'

/** Agent runtime of the configuration file. */
export interface ConfiguredHarness {
  readonly alias: string
  readonly apiSpec: ApiSpec
  readonly displayName: string
  /** Without a trailing slash; empty for a program that the service starts. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  /** Program to start, and its arguments; undefined for a runtime that is called at `apiBase`. */
  readonly command: readonly string[] | undefined
  /** Environment variables of the program. */
  readonly env: Readonly<Record<string, string>>
  /** Present if the program runs without a sandbox, with the rights of the service. */
  readonly isolation?: 'none'
}

/** Program that serves MCP on its standard input and output. */
export interface StdioCommand {
  /** The program, as an absolute path or `node`, then its arguments. No shell reads them. Security: S30. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Names of global vault entries by the variable that gets the value. */
  readonly vaultEnv: Readonly<Record<string, string>>
  /** Network of its sandbox, as `config.network` of agents; none by default. */
  readonly network?: Readonly<Record<string, unknown>>
  /** Present if the program runs without a sandbox, with the rights of the service. */
  readonly isolation?: 'none'
}

/** MCP server of the configuration file. */
export interface ConfiguredMcpServer {
  readonly serverName: string
  readonly alias: string | null
  readonly description: string | null
  /** Empty for a program. */
  readonly url: string
  /** Present for a server that the service starts itself. */
  readonly stdio?: StdioCommand
  readonly authType: McpAuthType
  readonly authValue: string | undefined
  readonly vaultKey: string | null
  readonly staticHeaders: Readonly<Record<string, string>>
  readonly allowedTools: readonly string[] | null
  readonly disallowedTools: readonly string[] | null
  readonly requireApproval: 'always' | readonly string[] | null
}

export type SandboxDriverChoice = 'auto' | 'bubblewrap' | 'virtual' | 'docker' | 'kubernetes'

/** Where the commands and programs of sessions run. */
export interface SandboxConfig {
  /** `auto`: bubblewrap if it works here, else virtual. */
  readonly driver: SandboxDriverChoice
  /** Image of agents that name none; empty for a driver without images. */
  readonly image: string
  /** Other images that agents may name. */
  readonly images: readonly string[]
  readonly docker: DockerSettings
  /** Present with the driver `kubernetes`. */
  readonly kubernetes: KubernetesSandbox | undefined
}

export interface DockerSettings {
  /** Path of the engine's socket. */
  readonly socket: string
  /** Runtime of the engine, such as `runsc`; undefined for its default. */
  readonly runtime: string | undefined
  /** `uid:gid` of commands; undefined for the owner of the workspaces. */
  readonly user: string | undefined
  /** Image with socat, which connects containers with the proxy of the network; undefined for the default image. */
  readonly proxyImage: string | undefined
  /** True when missing images are pulled. */
  readonly pull: boolean
}

/** The cluster in which sandboxes run. */
export interface KubernetesSandbox {
  readonly namespace: string
  /** Persistent volume claim that also contains the workspaces folder of this server. */
  readonly claim: string
  /** Path of the workspaces folder on that volume; undefined: its root. */
  readonly subPath: string | undefined
  readonly serviceAccount: string | undefined
  readonly runtimeClass: string | undefined
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly pullSecrets: readonly string[]
  readonly api: KubernetesAccess
}

/** Access to the API server of a cluster. */
export interface KubernetesAccess {
  /** Address that starts with https://. */
  readonly server: string
  readonly tokenFile: string
  readonly caFile: string
}

export type SearchProvider = 'brave' | 'tavily' | 'searxng'

/** Provider of the tool `web_search`. */
export interface WebSearchSettings {
  readonly provider: SearchProvider
  readonly apiKey: string | undefined
  /** Without a trailing slash. */
  readonly apiBase: string
}

export type GitHostType = 'github' | 'gitlab' | 'gitea'

/** A host of repositories. */
export interface GitHost {
  /** Host with the port if it is not that of the scheme, in lower case. */
  readonly host: string
  /** Whose API opens pull requests. */
  readonly type: GitHostType
  /** Without a trailing slash. */
  readonly apiBase: string
  /** Vault entry with the credential; `git.` and the host by default. */
  readonly credential?: string | undefined
  /** How git's requests carry the credential; `basic` by default. */
  readonly auth?: 'basic' | 'bearer' | undefined
}

/** Limits of the tools of agents. */
export interface ToolSettings {
  /** Characters of a result in the context of a model. */
  readonly resultChars: number
  /** Characters that the model gets of a longer result. */
  readonly previewChars: number
}

/** Limits of workspace checkpoints. The session log lists files that exceed them. */
export interface WorkspaceSettings {
  /** Maximum bytes per file. */
  readonly fileBytes: number
  /** Maximum bytes of all files of a session. */
  readonly bytes: number
  /** Maximum number of files, folders and links of a session. */
  readonly files: number
  /** True: content is written to the bucket; false: to the database. */
  readonly writesBucket: boolean
  /** Bucket to read content from. */
  readonly bucket: WorkspaceBucket | undefined
}

/** Bucket of an S3-compatible object store. */
export interface WorkspaceBucket {
  /** Without a trailing slash. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  /** Prefix of every key. */
  readonly prefix: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}
