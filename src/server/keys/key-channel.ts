/** Channel that notifies every process of a changed key. The payload is its id. */
export const keyChannel = 'switchyard_keys'
