import { createHash, generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import { bits, identifier, integer, isTrue, octets, sequence, setOf, tagged, time, utf8 } from './der.ts'

/** A key pair on the curve P-256. */
export interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** Who signs certificates. */
export interface Issuer {
  readonly name: string
  readonly keys: KeyPair
}

/** What a certificate is for: to sign others, or to prove that its holder is a host. */
type Purpose = { readonly type: 'authority' } | { readonly type: 'server'; readonly host: string }

interface Certified {
  /** Common name of the holder. */
  readonly name: string
  readonly publicKey: KeyObject
  readonly notBefore: Date
  readonly notAfter: Date
  readonly purpose: Purpose
}

const generate = promisify(generateKeyPair)

export const newKeyPair = (): Promise<KeyPair> => generate('ec', { namedCurve: 'P-256' })

/** Returns a certificate in PEM, signed with ECDSA and SHA-256. Source: RFC 5280. */
export function issueCertificate(
  { name, publicKey, notBefore, notAfter, purpose }: Certified,
  { name: issuerName, keys }: Issuer,
): string {
  const version3 = tagged(0, integer(Buffer.from([2])), 'whole')
  const serialNumber = integer(randomBytes(16))
  const extensions =
    purpose.type === 'authority'
      ? extensionsOfAuthority(publicKey)
      : extensionsOfServer(purpose.host, { publicKey, issuerKey: keys.publicKey })
  const body = sequence(
    version3,
    serialNumber,
    ecdsaWithSha256,
    nameOf(issuerName),
    sequence(time(notBefore), time(notAfter)),
    nameOf(name),
    publicKeyInfo(publicKey),
    tagged(3, sequence(...extensions), 'whole'),
  )
  const signature = sign('sha256', body, keys.privateKey)
  return pem(sequence(body, ecdsaWithSha256, bits(signature)))
}

const ecdsaWithSha256 = sequence(identifier('1.2.840.10045.4.3.2'))

const nameOf = (commonName: string): Buffer => sequence(setOf(sequence(identifier('2.5.4.3'), utf8(commonName))))

const publicKeyInfo = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })

/** The digest of the public key, by which clients find the certificate that has signed another one. */
const keyIdOf = (key: KeyObject): Buffer => createHash('sha1').update(publicKeyInfo(key)).digest()

const extension = (id: string, value: Buffer): Buffer => sequence(identifier(id), octets(value))
const criticalExtension = (id: string, value: Buffer): Buffer => sequence(identifier(id), isTrue, octets(value))

const basicConstraints = '2.5.29.19'
const keyUsage = '2.5.29.15'
const subjectKeyId = (key: KeyObject): Buffer => extension('2.5.29.14', octets(keyIdOf(key)))

const extensionsOfAuthority = (publicKey: KeyObject): Buffer[] => [
  // It may sign certificates of servers, but not of other authorities.
  criticalExtension(basicConstraints, sequence(isTrue, integer(Buffer.from([0])))),
  // keyCertSign and cRLSign
  criticalExtension(keyUsage, bits(Buffer.from([0b0000_0110]), 1)),
  subjectKeyId(publicKey),
]

const extensionsOfServer = (
  host: string,
  { publicKey, issuerKey }: { readonly publicKey: KeyObject; readonly issuerKey: KeyObject },
): Buffer[] => [
  criticalExtension(basicConstraints, sequence()),
  // digitalSignature
  criticalExtension(keyUsage, bits(Buffer.from([0b1000_0000]), 7)),
  // serverAuth
  extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'))),
  subjectKeyId(publicKey),
  extension('2.5.29.35', sequence(tagged(0, keyIdOf(issuerKey), 'content'))),
  extension('2.5.29.17', sequence(alternativeName(host))),
]

const alternativeName = (host: string): Buffer =>
  isIP(host) === 0 ? tagged(2, Buffer.from(host, 'ascii'), 'content') : tagged(7, addressBytes(host), 'content')

/** Returns the 4 or 16 bytes of an address. */
function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const [before, after] = [groupsOf(head), groupsOf(tail ?? '')]
  const zeros = new Array<number>(8 - before.length - after.length).fill(0)
  return Buffer.from([...before, ...zeros, ...after].flatMap(group => [group >> 8, group & 0xff]))
}

const groupsOf = (text: string): number[] =>
  text === '' ? [] : text.split(':').map(group => Number.parseInt(group, 16))

const pem = (der: Buffer): string => {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}
