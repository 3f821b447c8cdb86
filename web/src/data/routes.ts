import { auditRoutes } from '../../../src/contract/audit.ts'
import { fileRoutes } from '../../../src/contract/files.ts'
import { memoryRoutes } from '../../../src/contract/memories.ts'
import { sessionRoutes } from '../../../src/contract/sessions.ts'
import { skillFolderRoutes } from '../../../src/contract/skill-folders.ts'
import { usageRoutes } from '../../../src/contract/usage.ts'

/** Routes whose answers need `client.page` or `client.open`: lists with their cursor in a header, files and CSV. */
export const routes = {
  memoryList: memoryRoutes.list,
  sessionChildren: sessionRoutes.children,
  file: fileRoutes.read,
  fileArchive: fileRoutes.archive,
  usageReport: usageRoutes.report,
  toolReport: usageRoutes.tools,
  calls: usageRoutes.calls,
  audit: auditRoutes.list,
  skillArchive: skillFolderRoutes.content,
} as const
