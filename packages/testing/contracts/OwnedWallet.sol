// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice A contract wallet with one owner, whose signatures it accepts as its own (ERC-1271). It can pay by a signed
/// authorization and do nothing else.
contract OwnedWallet {
    bytes4 private constant VALID = 0x1626ba7e;
    bytes4 private constant INVALID = 0xffffffff;

    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return INVALID;
        address signer = ecrecover(
            digest,
            uint8(signature[64]),
            bytes32(signature[0:32]),
            bytes32(signature[32:64])
        );
        return signer != address(0) && signer == owner ? VALID : INVALID;
    }
}
