import { apiVersion } from '../../contract/api.ts'
import { opencodePlace } from '../../contract/opencode-route.ts'
import type { OpencodeSession, Session } from '../../contract/sessions.ts'

/** Returns the record of a session with the additional fields that opencode's clients read. */
export const opencodeSession = (session: Session): OpencodeSession => ({
  ...session,
  ...opencodePlace,
  ...(session.parent_session_id !== null && { parentID: session.parent_session_id }),
  slug: session.id,
  version: apiVersion,
})
