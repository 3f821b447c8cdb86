/** Names of HTML for the characters from U+00A0 on, in order. */
const latin =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro ' +
  'para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil ' +
  'Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave ' +
  'Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml ' +
  'igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute ' +
  'thorn yuml'

const firstLatin = 0xa0

const names: ReadonlyMap<string, string> = new Map([
  ...latin.split(' ').map((name, at) => [name, String.fromCharCode(firstLatin + at)] as const),
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", hellip: '…', mdash: '—', ndash: '–' }),
  ...Object.entries({ lsquo: '‘', rsquo: '’', sbquo: '‚', ldquo: '“', rdquo: '”', bdquo: '„', bull: '•', euro: '€' }),
  ...Object.entries({ trade: '™', larr: '←', uarr: '↑', rarr: '→', darr: '↓', minus: '−', le: '≤', ge: '≥', ne: '≠' }),
])

const maxCodePoint = 0x10_ffff

/** Replaces the character references of a text; unknown ones stay. */
export const decodeEntities = (text: string): string =>
  text.includes('&')
    ? text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]\w{1,7}));?/gi, (whole, decimal, hex, name) => {
        if (name !== undefined) return names.get(name) ?? whole
        return characterOf(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal))
      })
    : text

function characterOf(code: number): string {
  const isCharacter = code > 0 && code <= maxCodePoint && !(code >= 0xd800 && code <= 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : '\u{fffd}'
}
