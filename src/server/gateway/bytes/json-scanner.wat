;; Scans JSON texts without parsing their values. Every function takes an address and returns the address after what it
;; read, or -1 when the text, which ends at $end, is not JSON. A zero byte follows the text; no value extends past it.
;;
;; Memory layout by address:
;;   0     table with 1 at the code of each hexadecimal digit
;;   256   counts: values, maximum depth, bits of the found words (bit 30: escaped letter), long strings
;;   512   watched words, 48 bytes each: text (16), mask (16), length (4), bit (4), 1 when keys do not count (4)
;;   2048  text, then the bits of the open brackets (1 for an object), then the start and end of long strings
(module
  (memory (export "memory") 1)
  (global $wordCount (mut i32) (i32.const 0))
  (global $bracketsAt (mut i32) (i32.const 0))
  ;; 0 when long strings are not recorded.
  (global $longAt (mut i32) (i32.const 0))

  ;; Sets the addresses for the next text.
  (func (export "open") (param $wordCount i32) (param $bracketsAt i32) (param $longAt i32)
    (global.set $wordCount (local.get $wordCount))
    (global.set $bracketsAt (local.get $bracketsAt))
    (global.set $longAt (local.get $longAt)))

  ;; Reads the string whose opening quote is at $at, as a key.
  (func (export "stringEnd") (param $at i32) (param $end i32) (result i32)
    (call $string (local.get $at) (local.get $end) (i32.const 1)))

  ;; Reads the value that starts at $at.
  (func (export "valueEnd") (param $at i32) (param $end i32) (result i32)
    (local $depth i32)
    (local $byte i32)
    (local $isObject i32)
    (local $values i32)
    (block $broken
      (loop $value
        (local.set $at (call $skipBlank (local.get $at)))
        (local.set $byte (i32.load8_u (local.get $at)))
        (if
          (i32.eq (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x7b))
          (then
            ;; An opening bracket: the codes of [ and { differ in one bit.
            (local.set $isObject (i32.eq (local.get $byte) (i32.const 0x7b)))
            (call $setBracket (local.get $depth) (local.get $isObject))
            (local.set $depth (i32.add (local.get $depth) (i32.const 1)))
            (if
              (i32.gt_u (local.get $depth) (i32.load offset=260 (i32.const 0)))
              (then (i32.store offset=260 (i32.const 0) (local.get $depth))))
            (local.set $at (call $skipBlank (i32.add (local.get $at) (i32.const 1))))
            (if
              (i32.ne (i32.load8_u (local.get $at)) (i32.add (local.get $byte) (i32.const 2)))
              (then
                (if
                  (local.get $isObject)
                  (then
                    (local.set $at (call $keyEnd (local.get $at) (local.get $end)))
                    (br_if $broken (i32.eq (local.get $at) (i32.const -1)))))
                (br $value))))
          (else
            (if
              (i32.eq (local.get $byte) (i32.const 0x22))
              (then
                (local.set $at (call $string (local.get $at) (local.get $end) (i32.const 0))))
              (else
                (local.set $at (call $plainEnd (local.get $at) (local.get $byte)))))
            (br_if $broken (i32.eq (local.get $at) (i32.const -1)))))
        (local.set $values (i32.add (local.get $values) (i32.const 1)))

        ;; After a value, or at the closing bracket of an empty object or array.
        (loop $behind
          (if
            (i32.eqz (local.get $depth))
            (then
              (i32.store offset=256
                (i32.const 0)
                (i32.add (i32.load offset=256 (i32.const 0)) (local.get $values)))
              (return (local.get $at))))
          (local.set $at (call $skipBlank (local.get $at)))
          (local.set $byte (i32.load8_u (local.get $at)))
          (local.set $isObject (call $bracket (i32.sub (local.get $depth) (i32.const 1))))
          (if
            (i32.eq
              (local.get $byte)
              (select (i32.const 0x7d) (i32.const 0x5d) (local.get $isObject)))
            (then
              (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br $behind))))
        (br_if $broken (i32.ne (local.get $byte) (i32.const 0x2c)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (if
          (local.get $isObject)
          (then
            (local.set $at (call $keyEnd (call $skipBlank (local.get $at)) (local.get $end)))
            (br_if $broken (i32.eq (local.get $at) (i32.const -1)))))
        (br $value)))
    (i32.const -1))

  (func $setBracket (param $level i32) (param $isObject i32)
    (local $place i32)
    (local $bit i32)
    (local.set $place (i32.add (global.get $bracketsAt) (i32.shr_u (local.get $level) (i32.const 3))))
    (local.set $bit (i32.shl (i32.const 1) (i32.and (local.get $level) (i32.const 7))))
    (i32.store8
      (local.get $place)
      (select
        (i32.or (i32.load8_u (local.get $place)) (local.get $bit))
        (i32.and (i32.load8_u (local.get $place)) (i32.xor (local.get $bit) (i32.const -1)))
        (local.get $isObject))))

  (func $bracket (param $level i32) (result i32)
    (i32.and
      (i32.shr_u
        (i32.load8_u (i32.add (global.get $bracketsAt) (i32.shr_u (local.get $level) (i32.const 3))))
        (i32.and (local.get $level) (i32.const 7)))
      (i32.const 1)))

  (func $skipBlank (param $at i32) (result i32)
    (local $byte i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.gt_u (local.get $byte) (i32.const 0x20)) (then (return (local.get $at))))
      (if
        (i32.or
          (i32.or (i32.eq (local.get $byte) (i32.const 0x20)) (i32.eq (local.get $byte) (i32.const 0x0a)))
          (i32.or (i32.eq (local.get $byte) (i32.const 0x0d)) (i32.eq (local.get $byte) (i32.const 0x09))))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next))))
    (local.get $at))

  ;; Reads the key that starts at $at and its colon.
  (func $keyEnd (param $at i32) (param $end i32) (result i32)
    (local.set $at (call $string (local.get $at) (local.get $end) (i32.const 1)))
    (if (i32.eq (local.get $at) (i32.const -1)) (then (return (i32.const -1))))
    (local.set $at (call $skipBlank (local.get $at)))
    (select
      (i32.add (local.get $at) (i32.const 1))
      (i32.const -1)
      (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x3a))))

  ;; Reads the number, true, false or null that starts at $at with $byte.
  (func $plainEnd (param $at i32) (param $byte i32) (result i32)
    (if
      (i32.or
        (i32.eq (local.get $byte) (i32.const 0x2d))
        (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 10)))
      (then (return (call $numberEnd (local.get $at) (local.get $byte)))))
    (if
      (i32.or
        (i32.eq (i32.load (local.get $at)) (i32.const 0x65757274))
        (i32.eq (i32.load (local.get $at)) (i32.const 0x6c6c756e)))
      (then (return (i32.add (local.get $at) (i32.const 4)))))
    (select
      (i32.add (local.get $at) (i32.const 5))
      (i32.const -1)
      (i32.and
        (i32.eq (i32.load (local.get $at)) (i32.const 0x736c6166))
        (i32.eq (i32.load8_u offset=4 (local.get $at)) (i32.const 0x65)))))

  (func $numberEnd (param $at i32) (param $byte i32) (result i32)
    (if
      (i32.eq (local.get $byte) (i32.const 0x2d))
      (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
    (local.set $at
      (if (result i32)
        (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x30))
        (then (i32.add (local.get $at) (i32.const 1)))
        (else (call $digitsEnd (local.get $at)))))
    (if (i32.eq (local.get $at) (i32.const -1)) (then (return (i32.const -1))))
    (if
      (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2e))
      (then
        (local.set $at (call $digitsEnd (i32.add (local.get $at) (i32.const 1))))
        (if (i32.eq (local.get $at) (i32.const -1)) (then (return (i32.const -1))))))
    (if
      (i32.ne (i32.or (i32.load8_u (local.get $at)) (i32.const 0x20)) (i32.const 0x65))
      (then (return (local.get $at))))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (local.set $byte (i32.load8_u (local.get $at)))
    (call $digitsEnd
      (i32.add
        (local.get $at)
        (i32.or (i32.eq (local.get $byte) (i32.const 0x2b)) (i32.eq (local.get $byte) (i32.const 0x2d))))))

  ;; Reads one or more digits.
  (func $digitsEnd (param $at i32) (result i32)
    (local $first i32)
    (local.set $first (local.get $at))
    (loop $next
      (if
        (i32.lt_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 0x30)) (i32.const 10))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next))))
    (select (i32.const -1) (local.get $at) (i32.eq (local.get $at) (local.get $first))))

  ;; Reads the string whose opening quote is at $at; records watched words and long strings.
  (func $string (param $at i32) (param $end i32) (param $isKey i32) (result i32)
    (local $behind i32)
    (local $length i32)
    (if (i32.ne (i32.load8_u (local.get $at)) (i32.const 0x22)) (then (return (i32.const -1))))
    (local.set $behind (call $stringEnd (i32.add (local.get $at) (i32.const 1)) (local.get $end)))
    (if (i32.eq (local.get $behind) (i32.const -1)) (then (return (i32.const -1))))
    (local.set $length (i32.sub (local.get $behind) (local.get $at)))
    (if
      (i32.and
        (i32.ne (global.get $wordCount) (i32.const 0))
        (i32.le_u (local.get $length) (i32.const 34)))
      (then
        (call $noteWord
          (i32.add (local.get $at) (i32.const 1))
          (i32.sub (local.get $length) (i32.const 2))
          (local.get $isKey))))
    (if
      (i32.and
        (i32.ne (global.get $longAt) (i32.const 0))
        (i32.gt_u (local.get $length) (i32.const 512)))
      (then (call $noteLong (local.get $at) (local.get $behind))))
    (local.get $behind))

  (func $noteWord (param $start i32) (param $length i32) (param $isKey i32)
    (local $word i32)
    (local $left i32)
    (local.set $word (i32.const 512))
    (local.set $left (global.get $wordCount))
    (loop $next
      (if
        (i32.and
          (i32.eq (i32.load offset=32 (local.get $word)) (local.get $length))
          (i32.eqz (i32.and (i32.load offset=40 (local.get $word)) (local.get $isKey))))
        (then
          (if
            (i32.eqz
              (v128.any_true
                (v128.and
                  (v128.xor (v128.load (local.get $start)) (v128.load (local.get $word)))
                  (v128.load offset=16 (local.get $word)))))
            (then
              (i32.store offset=264
                (i32.const 0)
                (i32.or
                  (i32.load offset=264 (i32.const 0))
                  (i32.load offset=36 (local.get $word))))))))
      (local.set $word (i32.add (local.get $word) (i32.const 48)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $next (local.get $left))))

  (func $noteLong (param $start i32) (param $end i32)
    (local $count i32)
    (local $place i32)
    (local.set $count (i32.load offset=268 (i32.const 0)))
    (local.set $place (i32.add (global.get $longAt) (i32.shl (local.get $count) (i32.const 3))))
    (i32.store (local.get $place) (local.get $start))
    (i32.store offset=4 (local.get $place) (local.get $end))
    (i32.store offset=268 (i32.const 0) (i32.add (local.get $count) (i32.const 1))))

  ;; Reads the string whose first byte after the opening quote is at $at, in steps of 32 bytes. Each bit of a mask stands
  ;; for one byte. The carries of one subtraction find all bytes that an odd run of backslashes escapes (the method of
  ;; simdjson).
  (func $stringEnd (param $at i32) (param $end i32) (result i32)
    (local $first v128)
    (local $second v128)
    (local $backslashes i32)
    (local $codes i32)
    (local $escaped i32)
    ;; 1 when the first byte of the step is escaped.
    (local $carried i32)
    (local $quotes i32)
    ;; Mask of the string's bytes in this step, without the closing quote.
    (local $inside i32)
    (local $unicode i32)
    (local $place i32)
    (loop $step
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const -1))))
      (local.set $first (v128.load (local.get $at)))
      (local.set $second (v128.load offset=16 (local.get $at)))

      (local.set $backslashes
        (i32.or
          (i8x16.bitmask (i8x16.eq (local.get $first) (i8x16.splat (i32.const 0x5c))))
          (i32.shl
            (i8x16.bitmask (i8x16.eq (local.get $second) (i8x16.splat (i32.const 0x5c))))
            (i32.const 16))))
      (local.set $quotes
        (i32.or
          (i8x16.bitmask (i8x16.eq (local.get $first) (i8x16.splat (i32.const 0x22))))
          (i32.shl
            (i8x16.bitmask (i8x16.eq (local.get $second) (i8x16.splat (i32.const 0x22))))
            (i32.const 16))))
      (local.set $escaped (i32.const 0))
      (if (i32.or (local.get $backslashes) (local.get $carried))
        (then
          ;; Backslashes that may start an escape; the subtraction sets the bit after each odd run.
          (local.set $codes
            (i32.and (local.get $backslashes) (i32.xor (local.get $carried) (i32.const -1))))
          (local.set $codes
            (i32.xor
              (i32.sub
                (i32.or (i32.shl (local.get $codes) (i32.const 1)) (i32.const 0xaaaaaaaa))
                (local.get $codes))
              (i32.const 0xaaaaaaaa)))
          (local.set $escaped
            (i32.xor (local.get $codes) (i32.or (local.get $backslashes) (local.get $carried))))
          (local.set $carried
            (i32.shr_u (i32.and (local.get $codes) (local.get $backslashes)) (i32.const 31)))
          (local.set $quotes
            (i32.and (local.get $quotes) (i32.xor (local.get $escaped) (i32.const -1))))))
      ;; All bits below the first quote; all bits when there is none.
      (local.set $inside
        (i32.and
          (i32.xor (local.get $quotes) (i32.const -1))
          (i32.sub (local.get $quotes) (i32.const 1))))

      ;; Control characters must be escaped.
      (if
        (i32.and
          (local.get $inside)
          (i32.or
            (i8x16.bitmask (i8x16.lt_u (local.get $first) (i8x16.splat (i32.const 0x20))))
            (i32.shl
              (i8x16.bitmask (i8x16.lt_u (local.get $second) (i8x16.splat (i32.const 0x20))))
              (i32.const 16))))
        (then (return (i32.const -1))))

      (local.set $escaped (i32.and (local.get $escaped) (local.get $inside)))
      (if (local.get $escaped)
        (then
          ;; Looks up both halves of each byte: a byte may follow a backslash when both lookups share a class bit.
          (if
            (i32.and
              (local.get $escaped)
              (i32.or
                (i8x16.bitmask
                  (i8x16.eq
                    (v128.and
                      (i8x16.swizzle
                        (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1)
                        (v128.and (local.get $first) (i8x16.splat (i32.const 0x0f))))
                      (i8x16.swizzle
                        (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0)
                        (i8x16.shr_u (local.get $first) (i32.const 4))))
                    (i8x16.splat (i32.const 0))))
                (i32.shl
                  (i8x16.bitmask
                    (i8x16.eq
                      (v128.and
                        (i8x16.swizzle
                          (v128.const i8x16 0 0 13 0 8 8 4 0 0 0 0 0 2 0 4 1)
                          (v128.and (local.get $second) (i8x16.splat (i32.const 0x0f))))
                        (i8x16.swizzle
                          (v128.const i8x16 0 0 1 0 0 2 4 8 0 0 0 0 0 0 0 0)
                          (i8x16.shr_u (local.get $second) (i32.const 4))))
                      (i8x16.splat (i32.const 0))))
                  (i32.const 16))))
            (then (return (i32.const -1))))
          (local.set $unicode
            (i32.and
              (local.get $escaped)
              (i32.or
                (i8x16.bitmask (i8x16.eq (local.get $first) (i8x16.splat (i32.const 0x75))))
                (i32.shl
                  (i8x16.bitmask (i8x16.eq (local.get $second) (i8x16.splat (i32.const 0x75))))
                  (i32.const 16)))))
          (block $checked
            (loop $digits
              (br_if $checked (i32.eqz (local.get $unicode)))
              (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $unicode))))
              (if
                (i32.eqz
                  (i32.and
                    (i32.and
                      (i32.load8_u (i32.load8_u offset=1 (local.get $place)))
                      (i32.load8_u (i32.load8_u offset=2 (local.get $place))))
                    (i32.and
                      (i32.load8_u (i32.load8_u offset=3 (local.get $place)))
                      (i32.load8_u (i32.load8_u offset=4 (local.get $place))))))
                (then (return (i32.const -1))))
              ;; 0x40 to 0x7f: a letter that needs no escape.
              (if
                (i32.eq
                  (i32.and (i32.load offset=1 (local.get $place)) (i32.const 0x00fcffff))
                  (i32.const 0x00343030))
                (then
                  (i32.store offset=264
                    (i32.const 0)
                    (i32.or (i32.load offset=264 (i32.const 0)) (i32.const 0x40000000)))))
              (local.set $unicode
                (i32.and (local.get $unicode) (i32.sub (local.get $unicode) (i32.const 1))))
              (br $digits)))))

      (if (local.get $quotes)
        (then
          (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $quotes))))
          (return
            (select
              (i32.add (local.get $place) (i32.const 1))
              (i32.const -1)
              (i32.lt_u (local.get $place) (local.get $end))))))
      (local.set $at (i32.add (local.get $at) (i32.const 32)))
      (br $step))
    (unreachable)))
