import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { AwsAccess, Deployment, GoogleAccess, GoogleServiceAccount } from './deployments.ts'
import type { ModelParams } from './model-shape.ts'
import { protocols } from './protocols.ts'
import { isUnsendable } from './providers.ts'
import type { ModelRoute } from './route-of-model.ts'
import type { ReportAt } from './yaml-shape.ts'

interface Options {
  readonly params: Partial<ModelParams>
  readonly route: ModelRoute
  /** True if `vertex_credentials` may be the path of a file. */
  readonly mayReadFiles: boolean
  readonly reportAt: ReportAt
}

const awsFields = ['aws_region_name', 'aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'] as const
const awsSecrets = ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'] as const
const googleFields = ['vertex_project', 'vertex_location', 'vertex_credentials'] as const

/** Returns the credential of a Bedrock or Vertex AI deployment. Messages never contain secret values. */
export function accessOf(options: Options): Pick<Deployment, 'aws' | 'google'> {
  const { provider } = options.route
  const clouds = options.route.protocols.map(name => protocols[name].cloud)
  const isAws = provider === 'bedrock' || clouds.includes('aws')
  const isGoogle = provider === 'vertex' || clouds.includes('google')
  if (!isAws) reportForeign(options, awsFields, 'bedrock')
  if (!isGoogle) reportForeign(options, googleFields, 'vertex')
  if (isAws) reportUnsendable(options)
  const aws = isAws ? awsAccess(options) : undefined
  const google = isGoogle ? googleAccess(options) : undefined
  return { ...(aws && { aws }), ...(google && { google }) }
}

function reportForeign({ params, reportAt }: Options, fields: readonly (keyof ModelParams)[], provider: string): void {
  for (const field of fields)
    if (field in params) reportAt(`${field} is only supported for provider ${provider}`, field)
}

function reportUnsendable({ params, reportAt }: Options): void {
  for (const field of awsSecrets) {
    const value = params[field]
    if (value !== undefined && isUnsendable(value))
      reportAt(`${field} is empty or contains a character that is not allowed in keys`, field)
  }
}

/** Undefined if the deployment uses an API key instead of signatures. */
function awsAccess({ params, route, reportAt }: Options): AwsAccess | undefined {
  const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey } = params
  if ('aws_access_key_id' in params !== 'aws_secret_access_key' in params) {
    const missing = 'aws_access_key_id' in params ? 'aws_secret_access_key' : 'aws_access_key_id'
    reportAt(`${missing} is required with the other AWS key`, 'model')
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const isSigned = 'aws_access_key_id' in params || 'aws_secret_access_key' in params
    if (!isSigned && lacksCredential(params))
      reportAt('api_key, or aws_access_key_id and aws_secret_access_key, is required for bedrock', 'model')
    return undefined
  }
  if (params.api_key !== undefined) reportAt('api_key and aws_access_key_id exclude each other; remove one', 'api_key')
  const region =
    params.aws_region_name ?? /\bbedrock[\w-]*\.([a-z0-9-]+)\.(?:vpce\.)?amazonaws\./.exec(route.apiBase)?.[1]
  if (region === undefined) {
    if (!('aws_region_name' in params)) reportAt('aws_region_name is required to sign requests', 'model')
    return undefined
  }
  return { region, accessKeyId, secretAccessKey, sessionToken: params.aws_session_token }
}

function googleAccess({ params, mayReadFiles, reportAt }: Options): GoogleAccess | undefined {
  const { vertex_credentials: given } = params
  const read = given === undefined ? undefined : readServiceAccount(given, { mayReadFiles })
  if (typeof read === 'string') reportAt(`vertex_credentials ${read}`, 'vertex_credentials')
  const account = typeof read === 'string' ? undefined : read
  if (!('vertex_credentials' in params) && lacksCredential(params))
    reportAt('vertex_credentials, or an access token as api_key, is required for vertex', 'model')
  const project = params.vertex_project ?? account?.project
  if (project === undefined) {
    if (!('vertex_project' in params) && typeof read !== 'string')
      reportAt('vertex_project is required for vertex', 'model')
    return undefined
  }
  if (!/^[\w.:-]+$/.test(project)) reportAt('vertex_project must be a project id', 'vertex_project')
  return { project, location: params.vertex_location ?? 'global', serviceAccount: account?.access }
}

const lacksCredential = (params: Partial<ModelParams>): boolean =>
  !('api_key' in params) && !Object.keys(params.headers ?? {}).some(name => name.toLowerCase() === 'authorization')

interface ReadAccount {
  readonly access: GoogleServiceAccount
  readonly project: string | undefined
}

/** Returns the service account in a text or file; else the problem as the end of a message. */
function readServiceAccount(given: string, { mayReadFiles }: Pick<Options, 'mayReadFiles'>): ReadAccount | string {
  const text = given.trimStart().startsWith('{') || !mayReadFiles ? given : textOfFile(given)
  if (text === undefined) return 'is neither JSON nor a file that can be read'
  const fields = parsed(text)
  if (!fields) return 'is not the JSON of a service account'
  const { client_email: clientEmail, private_key: privateKey, project_id: project } = fields
  const tokenUri = fields['token_uri'] ?? 'https://oauth2.googleapis.com/token'
  if (typeof clientEmail !== 'string') return 'has no client_email: it must be the key of a service account'
  if (typeof privateKey !== 'string' || !isPrivateKey(privateKey)) return 'has no private_key in PEM format'
  if (typeof tokenUri !== 'string' || !/^https?:/.test(tokenUri) || !URL.canParse(tokenUri))
    return 'has a token_uri that is not a URL'
  return {
    access: { clientEmail, privateKey, tokenUri },
    project: typeof project === 'string' ? project : undefined,
  }
}

function textOfFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    // The message of JSON.parse would contain parts of the secret.
    return undefined
  }
}

function isPrivateKey(pem: string): boolean {
  try {
    createPrivateKey(pem)
    return true
  } catch {
    return false
  }
}
