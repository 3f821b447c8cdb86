import type { WorkspaceBucket, WorkspaceSettings } from './agent-settings.ts'
import type { ConfigFile, Place } from './file.ts'

const MiB = 1024 * 1024

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place: Place) => void
}

/** Returns the settings of the block `workspaces`. */
export function workspacesOfFile({ file, report }: Reading): WorkspaceSettings {
  const { workspaces = {} } = file.value
  const { store = 'postgres', s3 } = workspaces
  const reportAt = (text: string, ...path: readonly string[]) =>
    report(`workspaces.${text}`, file.place(['workspaces', ...path]))
  if (store !== 'postgres' && store !== 's3') reportAt('store must be postgres or s3', 'store')
  if (store === 's3' && s3 === undefined)
    reportAt('s3 is required with store s3: set endpoint, bucket, access_key_id and secret_access_key', 'store')
  // Without store s3 the bucket is still read from: it may contain earlier content.
  const bucket = s3 && bucketOf(s3, reportAt)
  return {
    fileBytes: workspaces.max_file_bytes ?? 64 * MiB,
    bytes: workspaces.max_bytes ?? 512 * MiB,
    files: workspaces.max_files ?? 20_000,
    writesBucket: store === 's3',
    bucket,
  }
}

type Given = NonNullable<NonNullable<ConfigFile['value']['workspaces']>['s3']>
type ReportAt = (text: string, ...path: readonly string[]) => void

function bucketOf(given: Given, reportAt: ReportAt): WorkspaceBucket | undefined {
  const { endpoint, bucket, region = 'us-east-1', prefix = '', access_key_id, secret_access_key, session_token } = given
  const missing = (['endpoint', 'bucket', 'access_key_id', 'secret_access_key'] as const).filter(name => !given[name])
  for (const name of missing) reportAt(`s3.${name} is required`, 's3')
  const url = endpoint === undefined ? null : URL.parse(endpoint)
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === ''
  if (endpoint !== undefined && !isAddress)
    reportAt('s3.endpoint must be an https:// or http:// address', 's3', 'endpoint')
  if (bucket !== undefined && !/^[a-z0-9][a-z0-9.-]{1,62}$/.test(bucket))
    reportAt('s3.bucket must be a bucket name of 3 to 63 lower-case letters, digits, . and -', 's3', 'bucket')
  if (!/^([\w-]+\/)*$/.test(prefix) || prefix.length > 200)
    reportAt('s3.prefix must consist of names of letters, digits, _ and -, each followed by /', 's3', 'prefix')
  if (!endpoint || !bucket || !access_key_id || !secret_access_key) return undefined
  return {
    endpoint: endpoint.replace(/\/$/, ''),
    bucket,
    region,
    prefix,
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    sessionToken: session_token,
  }
}
