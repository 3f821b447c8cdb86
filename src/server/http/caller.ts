/** Who calls: the result of authentication, seen by every handler. */
export interface Caller {
  /** Owner of what the caller creates: `master`, an owner's name, or a key's id. */
  readonly principal: string
  readonly role: 'admin' | 'user'
  /** The only owner whose objects the caller may see; undefined sees all. */
  readonly ownerScope: string | undefined
}

/** The caller that holds the master key, or any caller while authentication is off. */
export const masterCaller: Caller = { principal: 'master', role: 'admin', ownerScope: undefined }
