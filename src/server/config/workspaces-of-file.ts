import type { WorkspaceSettings } from './config.ts'
import type { ConfigFile } from './file.ts'

const MiB = 1024 * 1024

/** The file's `workspaces`. */
export function workspacesOfFile({ file }: { readonly file: ConfigFile }): WorkspaceSettings {
  const { workspaces = {} } = file.value
  return {
    fileBytes: workspaces.max_file_bytes ?? 64 * MiB,
    bytes: workspaces.max_bytes ?? 512 * MiB,
    files: workspaces.max_files ?? 20_000,
  }
}
