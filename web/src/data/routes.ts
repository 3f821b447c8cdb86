import { memoryRoutes } from '../../../src/contract/memories.ts'

/** Routes whose answers need `client.page` or `client.open`: lists with their cursor in a header, and files. */
export const routes = { memoryList: memoryRoutes.list } as const
