import { auditRoutes } from '../../../src/contract/audit.ts'
import { memoryRoutes } from '../../../src/contract/memories.ts'

/** Routes whose answers need `client.page` or `client.open`: lists with their cursor in a header, and files. */
export const routes = { auditList: auditRoutes.list, memoryList: memoryRoutes.list } as const
