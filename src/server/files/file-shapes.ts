import type { AnthropicFile, OpenAiFile } from '../../contract/stored-files.ts'
import type { FileInfo } from './file-store.ts'

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000)

export const openAiFile = ({ id, bytes, created_at, expires_at, filename, purpose }: FileInfo): OpenAiFile => ({
  id,
  object: 'file',
  bytes,
  created_at: seconds(created_at),
  expires_at: expires_at && seconds(expires_at),
  filename,
  purpose,
  status: 'processed',
})

export const anthropicFile = ({
  id,
  filename,
  media_type,
  bytes,
  created_at,
  expires_at,
}: FileInfo): AnthropicFile => ({
  id,
  type: 'file',
  filename,
  mime_type: media_type,
  size_bytes: bytes,
  created_at: created_at.toISOString(),
  expires_at: expires_at?.toISOString() ?? null,
  downloadable: true,
})
