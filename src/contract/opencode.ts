import { opencodeConfigRoutes, opencodeProjectRoutes } from './opencode-config.ts'
import { opencodeFileRoutes } from './opencode-files.ts'
import { opencodeSessionRoutes } from './opencode-sessions.ts'

/** The routes of opencode's clients, in the order of the document. */
export const opencodeRoutes = {
  ...opencodeSessionRoutes,
  ...opencodeConfigRoutes,
  ...opencodeFileRoutes,
  ...opencodeProjectRoutes,
}
