import { apiVersion } from '../../contract/api.ts'
import { opencodePlace } from '../../contract/opencode.ts'
import type { OpencodeSession, Session } from '../../contract/sessions.ts'

/** The record of a session with what opencode's clients read besides. */
export const opencodeSession = (session: Session): OpencodeSession => ({
  ...session,
  ...opencodePlace,
  slug: session.id,
  version: apiVersion,
})
