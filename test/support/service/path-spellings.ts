/** Returns other spellings of a path, which a router might take for it, or for a path without a key. */
export const spellingsOf = (path: string): string[] => {
  const [, first = '', ...rest] = path.split('/')
  const tail = rest.length === 0 ? '' : `/${rest.join('/')}`
  return [
    `/${path}`,
    `${path}/`,
    `${path}//`,
    `${path}.`,
    `${path};x=1`,
    `${path}%00`,
    `${path}%20`,
    `${path}?`,
    `${path}#`,
    path.toUpperCase(),
    path.replaceAll('/', '\\'),
    `/%2e${path}`,
    `/.${path}`,
    `/%2e%2e${path}`,
    `/docs/..${path}`,
    `/docs/%2e%2e${path}`,
    `/health/..%2f${path.slice(1)}`,
    `/openapi.json/..${path}`,
    `/${first}/${tail}`,
    `/${first}%2f${rest.join('/')}`,
    `/${first}/.${tail}`,
    `/%${first.charCodeAt(0).toString(16)}${first.slice(1)}${tail}`,
    `/%25${first.charCodeAt(0).toString(16)}${first.slice(1)}${tail}`,
    `http://127.0.0.1${path}`,
    `http://elsewhere.example${path}`,
    `${path}/.`,
    `${path}/%2e`,
    `${path}%2f`,
    `${path}%3fkey=`,
    `${path}.json`,
  ]
}
