"""Phone alphabets of the synthesisers -> the 15 visemes.

One rule book for everything this project synthesises: ARPAbet (flite, festival), Open JTalk's romaji
phones and espeak-ng's mnemonics. A *row* is (start_s, end_s, phone, viseme); viseme is one of VISEMES,
SCHWA (a soft label, see SOFT_SCHWA), or UNKNOWN (left out of training and of every metric).
"""

VISEMES = ["sil", "PP", "FF", "TH", "DD", "kk", "CH", "SS", "nn", "RR", "aa", "E", "ih", "oh", "ou"]
INDEX = {name: i for i, name in enumerate(VISEMES)}
UNKNOWN = "?"

# A reduced vowel has no mouth shape of its own. Corpora disagree about it (E or aa), and held, the same sound is the
# Japanese u; so it is trained as a mixture and left out of the vowel metric.
SCHWA = "@"
SOFT_SCHWA = {"E": 0.4, "aa": 0.25, "ih": 0.15, "ou": 0.2}

# h, the glottal stop and the Japanese sokuon take the shape of the phone that follows.
NEXT = "@next"

ARPABET = {
    "p": "PP", "b": "PP", "m": "PP", "em": "PP", "f": "FF", "v": "FF", "th": "TH", "dh": "TH",
    "t": "DD", "d": "DD", "dx": "DD", "k": "kk", "g": "kk", "ch": "CH", "jh": "CH", "sh": "CH", "zh": "CH",
    "s": "SS", "z": "SS", "n": "nn", "l": "nn", "ng": "nn", "en": "nn", "el": "nn", "r": "RR", "er": "RR", "axr": "RR",
    "aa": "aa", "ae": "aa", "ah": "aa", "ax": SCHWA, "eh": "E", "ih": "ih", "ix": "ih", "iy": "ih", "ao": "oh",
    "uh": "ou", "uw": "ou", "ux": "ou", "w": "ou", "y": "ih", "hh": NEXT, "q": NEXT,
    "ay": ("aa", "ih"), "ey": ("E", "ih"), "oy": ("oh", "ih"), "aw": ("aa", "ou"), "ow": ("oh", "ou"),
    "pau": "sil", "sil": "sil", "sp": "sil", "ssil": "sil", "h#": "sil", "#": "sil", "brth": "sil", "": "sil",
}

# Capital vowels are devoiced: the mouth still takes their shape. A devoiced sound between silences is rare.
JAPANESE = {
    "a": "aa", "i": "ih", "u": "ou", "e": "E", "o": "oh", "A": "aa", "I": "ih", "U": "ou", "E": "E", "O": "oh",
    "N": "nn", "cl": NEXT, "q": NEXT, "pau": "sil", "sil": "sil", "sp": "sil", "silB": "sil", "silE": "sil",
    "k": "kk", "g": "kk", "ky": "kk", "gy": "kk", "kw": "kk", "gw": "kk", "s": "SS", "z": "SS", "ts": "SS",
    "sh": "CH", "ch": "CH", "j": "CH", "t": "DD", "d": "DD", "ty": "DD", "dy": "DD", "n": "nn", "ny": "nn",
    "h": NEXT, "hy": "ih", "f": "FF", "v": "FF", "b": "PP", "p": "PP", "m": "PP", "by": "PP", "py": "PP", "my": "PP",
    "r": "DD", "ry": "DD", "w": "ou", "y": "ih",
}

# festival's Russian voice; doubled vowels are stressed, a and y unstressed.
RUSSIAN = {
    **dict.fromkeys("p pp b bb m mm".split(), "PP"), **dict.fromkeys("f ff v vv".split(), "FF"),
    **dict.fromkeys("t tt d dd".split(), "DD"), **dict.fromkeys("k kk g gg h hh".split(), "kk"),
    **dict.fromkeys("ch sh sch zh".split(), "CH"), **dict.fromkeys("s ss z zz c".split(), "SS"),
    **dict.fromkeys("n nn l ll".split(), "nn"), **dict.fromkeys("r rr".split(), "RR"),
    "aa": "aa", "a": "aa", "ae": SCHWA, "ay": SCHWA, "e": "E", "ee": "E", "i": "ih", "ii": "ih", "y": "ih", "yy": "ih",
    "j": "ih", "oo": "oh", "u": "ou", "uu": "ou", "ur": "ou", "pau": "sil", "#": "sil",
}

# International Phonetic Alphabet, one symbol each, with Kokoro's letters for diphthongs and affricates.
IPA_BEFORE = set("ˈˌ")
IPA_AFTER = set("ːˑʲʰˤ̩̯̪̃˞̧ᵝʷ")
IPA = {
    **dict.fromkeys("pbmɓʙɱ", "PP"), **dict.fromkeys("fvɸβʋⱱ", "FF"), **dict.fromkeys("θð", "TH"),
    **dict.fromkeys("tdɾɖʈTɽɗ", "DD"), **dict.fromkeys("kɡɢqxɣχcɟɠ", "kk"), **dict.fromkeys("ʃʒʧʤɕʑʂʐçʝʨʥꭧ", "CH"),
    **dict.fromkeys("szʦʣ", "SS"), **dict.fromkeys("nŋɲɳlɫʎɭɬɴ", "nn"), **dict.fromkeys("rɹɻʁʀɚɜɝ", "RR"),
    **dict.fromkeys("aɑæʌɶ", "aa"), **dict.fromkeys("eɛɘε", "E"), **dict.fromkeys("iɪɨjʏᵻ", "ih"),
    **dict.fromkeys("oɔɒøœɤɵ", "oh"), **dict.fromkeys("uʊɯyʉwɥɰʍ", "ou"), **dict.fromkeys("əɐᵊ", SCHWA),
    **dict.fromkeys("hɦħʔʕ", NEXT),
    "A": ("E", "ih"), "I": ("aa", "ih"), "O": ("oh", "ou"), "Q": ("oh", "ou"), "W": ("aa", "ou"), "Y": ("oh", "ih"),
    "sil": "sil",
}

ESPEAK_WHOLE = {
    "aI": ("aa", "ih"), "AI": ("aa", "ih"), "ai": ("aa", "ih"), "aY": ("aa", "ih"), "aI@": ("aa", "ih"),
    "aU": ("aa", "ou"), "AU": ("aa", "ou"), "au": ("aa", "ou"), "aU@": ("aa", "ou"),
    "eI": ("E", "ih"), "EI": ("E", "ih"), "ei": ("E", "ih"), "eU": ("E", "ou"), "e@": "E",
    "OI": ("oh", "ih"), "OY": ("oh", "ih"), "oi": ("oh", "ih"), "oU": ("oh", "ou"), "@U": ("oh", "ou"), "ou": ("oh", "ou"),
    "iu": ("ih", "ou"), "ia": ("ih", "aa"), "ie": ("ih", "E"), "i@": ("ih", "E"), "ua": ("ou", "aa"), "ui": ("ou", "ih"),
    "uo": ("ou", "oh"), "U@": ("ou", "E"), "O@": "oh", "o@": "oh", "A@": "aa", "3": "RR", "3:": "RR",
}

# (prefixes, viseme), first match wins; longer prefixes stand before shorter ones.
ESPEAK_PREFIX = [
    (("tS", "dZ", "ts\\", "t_s\\", "dz\\", "ts.", "dz."), "CH"),
    (("ts", "dz", "t_s", "d_z"), "SS"),
    (("s\\", "z\\", "s.", "z.", "s;"), "CH"),
    (("n^", "l^"), "nn"),
    (("p\\", "P"), "FF"),
    (("p", "b", "m", "B"), "PP"),
    (("f", "v", "F"), "FF"),
    (("T", "D"), "TH"),
    (("t", "d", "4"), "DD"),
    (("k", "g", "x", "G", "Q", "c"), "kk"),
    (("S", "Z", "C", "J"), "CH"),
    (("s", "z"), "SS"),
    (("n", "N", "l", "L"), "nn"),
    (("r", "R"), "RR"),
    (("h", "?", "H", "X", "q"), NEXT),
    (("w",), "ou"),
    (("j",), "ih"),
    (("a", "A", "V", "&"), "aa"),
    (("e", "E"), "E"),
    (("i", "I"), "ih"),
    (("o", "O", "0", "8", "2"), "oh"),
    (("u", "U", "y", "Y", "W", "M"), "ou"),
    (("@r", "@R"), "RR"),
    (("@",), SCHWA),
]


def espeak_viseme(phone):
    """Viseme (or pair, NEXT, None) of an espeak-ng mnemonic."""
    if phone.startswith(("_!", "_|")):  # a glottal catch between words, not a pause
        return NEXT
    if phone == "" or phone[0] in "_(":
        return "sil"
    if phone == "a#":  # the reduced vowel of "about"
        return SCHWA
    bare = phone.strip("',%;|-=").replace("_|", "").replace("#", "").replace("*", "")
    if bare == "":
        return NEXT
    for key in (bare, bare.rstrip("12345")):
        if key in ESPEAK_WHOLE:
            return ESPEAK_WHOLE[key]
    for prefixes, viseme in ESPEAK_PREFIX:
        if bare.startswith(prefixes):
            return viseme
    return None


def viseme_of(phone, alphabet):
    if alphabet == "espeak":
        return espeak_viseme(phone)
    if alphabet == "japanese":
        return JAPANESE.get(phone)
    if alphabet == "ipa":
        return IPA.get(phone)
    if alphabet == "russian":
        return RUSSIAN.get(phone)
    bare = phone.lower().split("_")[0]
    if bare == "ah0":
        return SCHWA
    return ARPABET.get(bare.rstrip("012345"))


# A diphthong spends most of its time on its first vowel.
DIPHTHONG_SPLIT = 0.6


def rows_of(segments, alphabet):
    """[(start_s, end_s, phone)] -> rows; diphthongs become two rows."""
    rows = []
    for i, (start, end, phone) in enumerate(segments):
        viseme = viseme_of(phone, alphabet)
        if viseme == NEXT:
            viseme = "sil"
            for _, _, following in segments[i + 1 : i + 3]:
                found = viseme_of(following, alphabet)
                if found and found != NEXT:
                    viseme = found[0] if isinstance(found, tuple) else found
                    break
        # Japanese moraic n before a lip sound is a lip sound.
        if alphabet == "japanese" and phone == "N" and i + 1 < len(segments):
            if viseme_of(segments[i + 1][2], alphabet) == "PP":
                viseme = "PP"
        if isinstance(viseme, tuple):
            middle = start + DIPHTHONG_SPLIT * (end - start)
            parts = [(start, middle, viseme[0]), (middle, end, viseme[1])]
        else:
            parts = [(start, end, viseme or UNKNOWN)]
        rows += [(a, b, phone, v) for a, b, v in parts if b - a > 1e-4]
    return rows


def write_tsv(path, rows):
    """Tab-separated start_s end_s phone viseme15; a soft schwa is written as its main shape."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("start_s\tend_s\tphone\tviseme15\n")
        for start, end, phone, viseme in rows:
            file.write(f"{start:.4f}\t{end:.4f}\t{phone}\t{'E' if viseme == SCHWA else viseme}\n")


def read_tsv(path):
    """Rows of a label file; further columns are ignored."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n")[1:]:
            cells = line.split("\t")
            if len(cells) >= 4:
                rows.append((float(cells[0]), float(cells[1]), cells[2], cells[3]))
    return rows
